import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";
import { JobError, messageOf } from "../core/errors.js";
import type { ModelProvenance } from "../core/modality.js";
import { SOURCE_TYPES, type SourceType } from "../core/source-type.js";
import { embedManifest, loadC2pa, type Manifest, readManifest } from "./c2pa.js";
import { makeDevelopmentSigner, readSigner, type Signer } from "./signer.js";

export { makeDevelopmentSigner, readSigner, type Signer };

/** Kinds of files that a C2PA manifest fits into. */
const MARKED = new Set([
  "video/mp4",
  "image/png",
  "image/jpeg",
  "image/webp",
  "audio/wav",
  "audio/mpeg",
  "audio/flac",
]);

/** What made a file, as its manifest says it. The prompt is none of it. */
export interface Origin {
  readonly jobId: string;
  readonly source: SourceType;
  readonly model: ModelProvenance & { readonly id: string };
}

/** Marks finished media. */
export interface Marker {
  readonly signer: Pick<Signer, "subject" | "expiresAtMs">;
  /** Gets ready to mark, which the first file would wait for. */
  prepare(): Promise<void>;
  /**
   * Puts a manifest into the file at `path`, unless its kind holds none. Throws `worker_fault` once the
   * certificate has expired.
   */
  mark(path: string, mediaType: string, origin: Origin): Promise<void>;
}

/** The label of what Framemill says of a job. */
const GENERATION = "ai.framemill.generation";

export function createMarker(signer: Signer, version: string): Marker {
  const generator = { name: "Framemill", version };
  return {
    signer,
    prepare: loadC2pa,
    async mark(path, mediaType, { jobId, source, model }) {
      if (!MARKED.has(mediaType)) return;
      if (signer.expiresAtMs <= Date.now())
        throw new JobError(
          "worker_fault",
          `the certificate of PROVENANCE_CERTIFICATE_FILE expired at ${new Date(signer.expiresAtMs).toISOString()}`,
        );
      const digitalSourceType = SOURCE_TYPES[source];
      const created = { action: "c2pa.created", digitalSourceType, softwareAgent: generator };
      const manifest = {
        claim_generator_info: [generator],
        title: jobId,
        assertions: [
          { label: "c2pa.actions.v2", data: { actions: [created] } },
          { label: GENERATION, data: { job: jobId, model } },
        ],
      };
      const marked = await embedManifest(await readFile(path), mediaType, manifest, signer);
      // Whole or not at all: an upload may be tried again.
      await writeFile(`${path}.marked`, marked);
      await rename(`${path}.marked`, path);
    },
  };
}

/** What a file says of its origin, and whether it is as it was signed. */
export interface Verification {
  /**
   * `intact`: nothing was changed since it was signed. `expired`: the same, but its signer's certificate has
   * expired, and nobody vouches that it had not when it signed. `tag`: no manifest, but a container tag, which anybody can write.
   */
  readonly mark: "intact" | "expired" | "changed" | "tag" | "none";
  readonly generator: string | null;
  /** Address in the IPTC's vocabulary. */
  readonly sourceType: string | null;
  readonly model: string | null;
  readonly job: string | null;
  readonly signer: string | null;
  /** `trusted`: an authority of `trustedRoots` vouches for the signer. `unknown`: nobody known does. */
  readonly signerIs: "trusted" | "unknown" | null;
  /** What is wrong, in C2PA's codes. */
  readonly problems: readonly string[];
}

const actions = z.object({
  actions: z.array(z.object({ digitalSourceType: z.string().optional() }).loose()),
});
const generation = z.object({ job: z.string(), model: z.object({ id: z.string() }) });
const NOTHING = {
  generator: null,
  sourceType: null,
  model: null,
  job: null,
  signer: null,
  signerIs: null,
  problems: [],
} as const;
/** That nobody known vouches for the signer says nothing of the file. */
const UNTRUSTED = "signingCredential.untrusted";
const EXPIRED = "signingCredential.expired";
/** What c2pa-rs says where it does not come to a manifest: the file is broken, signed or not. */
const BROKEN = /C2pa\((?:InvalidAsset|IoError)\(.*?"(.+)"/;
const ELSEWHERE = /C2pa\(RemoteManifestUrl\("(.+)"\)/;
/** And whatever else it says of a manifest that it finds and cannot read. */
const DAMAGED = /^(?:Error: )?C2pa\((?!OtherError|InsufficientMemory)/;

/** Reads the mark of a file: MP4, PNG, JPEG, WebP, WAV, MP3 or FLAC. `trustedRoots`: PEM. Throws `invalid_value` for others. */
export async function verifyMedia(bytes: Uint8Array, trustedRoots?: string): Promise<Verification> {
  const found = await readManifest(bytes, mediaTypeOf(bytes), trustedRoots).catch(asDamaged);
  if (found === undefined) return { ...NOTHING, ...tagOf(bytes) };
  if ("damage" in found) return { ...NOTHING, mark: "changed", problems: [found.damage] };
  const { manifest, validation_state: state, validation_status: statuses } = found;
  const problems = statuses.map(({ code }) => code).filter((code) => code !== UNTRUSTED);
  const isExpired = problems.length > 0 && problems.every((code) => code === EXPIRED);
  const invalid = isExpired ? "expired" : "changed";
  return {
    ...(manifest === undefined ? NOTHING : describe(manifest)),
    mark: state === "Invalid" ? invalid : "intact",
    signerIs: state === "Trusted" ? "trusted" : "unknown",
    problems,
  };
}

type Description = Pick<Verification, "generator" | "sourceType" | "model" | "job" | "signer">;

/** What a manifest says; another generator's says nothing of model and job. */
function describe({ assertions, claim_generator_info, signature_info }: Manifest): Description {
  const dataOf = (label: string) => assertions.find((one) => one.label.startsWith(label))?.data;
  const made = generation.safeParse(dataOf(GENERATION)).data;
  const done = actions.safeParse(dataOf("c2pa.actions")).data?.actions ?? [];
  const [generator] = claim_generator_info;
  return {
    generator: wordsOf(" ", generator?.name, generator?.version),
    sourceType: done.find((action) => action.digitalSourceType)?.digitalSourceType ?? null,
    model: made?.model.id ?? null,
    job: made?.job ?? null,
    signer: wordsOf(", ", signature_info.common_name, signature_info.issuer),
  };
}

function wordsOf(between: string, ...words: readonly (string | undefined)[]): string | null {
  return words.filter(Boolean).join(between) || null;
}

function asDamaged(thrown: unknown): { readonly damage: string } {
  const said = messageOf(thrown);
  const [, defect] = BROKEN.exec(said) ?? [];
  if (defect !== undefined)
    throw new JobError("invalid_value", `the file is broken: ${defect.replaceAll("\\", "")}`);
  const [, address] = ELSEWHERE.exec(said) ?? [];
  if (address !== undefined)
    throw new JobError("invalid_value", `its manifest lies at ${address}: nothing is fetched`);
  if (DAMAGED.test(said)) return { damage: said };
  throw thrown;
}

function tagOf(bytes: Uint8Array): Pick<Verification, "mark" | "sourceType"> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sourceType = Object.values(SOURCE_TYPES).find((uri) => buffer.includes(uri)) ?? null;
  return { mark: sourceType === null ? "none" : "tag", sourceType };
}

/** First bytes of files, at their places. */
const SIGNATURES: readonly (readonly [mediaType: string, at: number, bytes: string])[] = [
  ["image/png", 0, "\u0089PNG"],
  ["image/jpeg", 0, "\u00ff\u00d8\u00ff"],
  ["image/webp", 8, "WEBP"],
  ["audio/wav", 8, "WAVE"],
  ["video/mp4", 4, "ftyp"],
  ["audio/flac", 0, "fLaC"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/mpeg", 0, "\u00ff\u00fb"],
  ["audio/mpeg", 0, "\u00ff\u00f3"],
];

function mediaTypeOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const found = SIGNATURES.find(([, at, word]) => head.startsWith(word, at));
  if (found !== undefined) return found[0];
  throw new JobError(
    "invalid_value",
    "the file is no MP4, PNG, JPEG, WebP, WAV, MP3 or FLAC: no other kind is marked",
  );
}
