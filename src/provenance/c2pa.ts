import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import init, { WasmBuilder, WasmReader } from "@contentauth/c2pa-wasm";
import { z } from "zod";
import { createMutex } from "../core/async/mutex.js";
import { type Signer, signClaim } from "./signer.js";

/** What c2pa-rs reads of a browser's `Blob`. */
class Bytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.byteLength;
  }

  slice(from: number, to: number): Bytes {
    return new Bytes(this.bytes.subarray(from, to));
  }
}

/** The one class of a browser's workers that c2pa-rs asks for; Node has none. */
class FileReaderSync {
  readAsArrayBuffer({ bytes }: Bytes): ArrayBufferLike {
    return bytes.slice().buffer;
  }
}

let loading: Promise<void> | undefined;
/** The library keeps what it works on in one memory. */
const mutex = createMutex();

/** Compiles the library, a tenth of a second, unless that was done. */
export async function loadC2pa(): Promise<void> {
  loading ??= (async () => {
    Object.assign(globalThis, { FileReaderSync });
    const path = fileURLToPath(import.meta.resolve("@contentauth/c2pa-wasm/c2pa.wasm"));
    await init({ module_or_path: await readFile(path) });
  })();
  await loading;
}

/** Nothing is fetched, no picture is made, and what was just written is not read again. */
const SETTINGS = JSON.stringify({
  verify: { verify_after_sign: false, ocsp_fetch: false, remote_manifest_fetch: false },
  builder: { thumbnail: { enabled: false } },
});

/** The file with a manifest; throws what the library says of a file that it cannot read. */
export async function embedManifest(
  bytes: Uint8Array,
  mediaType: string,
  manifest: object,
  signer: Signer,
): Promise<Uint8Array> {
  await loadC2pa();
  const leave = await mutex.enter();
  const builder = WasmBuilder.fromJson(JSON.stringify(manifest), SETTINGS);
  try {
    const sign = async (claim: Uint8Array) => signClaim(signer, claim);
    const { algorithm: alg, reserveSize } = signer;
    // Typed as a browser's Blob, of which it uses these parts alone.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const source = new Bytes(bytes) as unknown as Blob;
    return await builder.sign({ alg, reserveSize, sign }, [], mediaType, source);
  } finally {
    builder.free();
    leave();
  }
}

const manifest = z.object({
  claim_generator_info: z
    .array(z.object({ name: z.string(), version: z.string().optional() }))
    .default([]),
  signature_info: z.object({ issuer: z.string(), common_name: z.string() }).partial().default({}),
  assertions: z.array(z.object({ label: z.string(), data: z.unknown() })).default([]),
});
export type Manifest = z.infer<typeof manifest>;

const store = z.object({
  active_manifest: z.string(),
  validation_state: z.enum(["Invalid", "Valid", "Trusted"]),
  validation_status: z.array(z.object({ code: z.string() })).default([]),
  manifests: z.record(z.string(), manifest),
});

/** A file's manifest and what is wrong with it; undefined where it has none. */
export async function readManifest(
  bytes: Uint8Array,
  mediaType: string,
  trustedRoots: string | undefined,
) {
  await loadC2pa();
  const trust = trustedRoots === undefined ? {} : { trust: { trust_anchors: trustedRoots } };
  const settings = { ...JSON.parse(SETTINGS), ...trust };
  const leave = await mutex.enter();
  let reader: WasmReader | undefined;
  try {
    reader = await WasmReader.fromBytes(mediaType, bytes, JSON.stringify(settings));
    const { manifests, active_manifest: label, ...rest } = store.parse(JSON.parse(reader.json()));
    return { ...rest, manifest: manifests[label] };
  } catch (thrown) {
    if (/JumbfNotFound/.test(String(thrown))) return undefined;
    throw thrown;
  } finally {
    reader?.free();
    leave();
  }
}
