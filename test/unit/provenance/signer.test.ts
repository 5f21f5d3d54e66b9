import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createMarker,
  makeDevelopmentSigner,
  readSigner,
  verifyMedia,
} from "#framemill/provenance/index.js";
import { encodePicture, sharp } from "#framemill/media/image.js";
import { readFile } from "node:fs/promises";

const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
/** XMP that says where a file's manifest is (C2PA 2.2, 11.5). */
const LINK = `<x:xmpmeta xmlns:x="adobe:ns:meta/">
  <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:dcterms="http://purl.org/dc/terms/"
      dcterms:provenance="https://example.com/it.c2pa"/>
  </rdf:RDF>
</x:xmpmeta>`;

describe("who signs media", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-signer-"));
    openssl(
      "req",
      "-x509",
      ...EC,
      "-days",
      "9",
      "-subj",
      "/CN=authority",
      "-keyout",
      "ca.key",
      "-out",
      "ca.pem",
    );
    openssl(
      "req",
      "-x509",
      ...EC,
      "-days",
      "9",
      "-subj",
      "/CN=self",
      "-addext",
      "basicConstraints=critical,CA:FALSE",
      "-addext",
      "extendedKeyUsage=emailProtection",
      "-keyout",
      "self.key",
      "-out",
      "self.pem",
    );
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));
  const openssl = (...words: string[]) =>
    execFileSync("openssl", words, { cwd: folder, stdio: "pipe" });
  const at = (name: string) => join(folder, name);
  /** A certificate of the authority's, for `usage`. */
  const certify = async (
    name: string,
    { usage = "emailProtection", days = "9", key = EC } = {},
  ) => {
    openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    await writeFile(
      at("extensions"),
      `basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=${usage}\n`,
    );
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      "-CA",
      "ca.pem",
      "-CAkey",
      "ca.key",
      "-days",
      days,
      "-extfile",
      "extensions",
      "-out",
      `${name}.pem`,
    );
    return { keyPath: at(`${name}.key`), certificatePath: at(`${name}.pem`) };
  };
  const pixels = { pixels: new Uint8Array(64 * 64 * 3).fill(99), width: 64, height: 64 };
  const markOne = async (files: Parameters<typeof readSigner>[0]) => {
    const path = at("picture.png");
    await writeFile(path, await encodePicture(pixels, "png", 0));
    const origin = { jobId: "image_1", source: "edited", model: { id: "m", maker: "us" } } as const;
    await createMarker(await readSigner(files), "1.2.3").mark(path, "image/png", origin);
    return await readFile(path);
  };

  test.each([
    ["an elliptic curve", EC],
    ["a longer curve", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-nodes"]],
    ["RSA", ["-newkey", "rsa:2048", "-nodes"]],
    ["Ed25519", ["-newkey", "ed25519", "-nodes"]],
  ])("signs with %s, and is trusted by whom trusts its authority", async (_, key) => {
    const bytes = await markOne(await certify("studio", { key }));
    const expected = {
      mark: "intact",
      job: "image_1",
      model: "m",
      generator: "Framemill 1.2.3",
      sourceType:
        "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia",
      problems: [],
    };
    expect(await verifyMedia(bytes)).toMatchObject({ ...expected, signerIs: "unknown" });
    const roots = await readFile(at("ca.pem"), "utf8");
    expect(await verifyMedia(bytes, roots)).toMatchObject({ ...expected, signerIs: "trusted" });
  });

  test("may be of its own making", async () => {
    const own = at("own.pem");
    await writeFile(own, await makeDevelopmentSigner());
    const bytes = await markOne({ keyPath: own, certificatePath: own });
    expect(await verifyMedia(bytes)).toMatchObject({ mark: "intact", signerIs: "unknown" });
  });

  test("finds a tag where there is no manifest, and nothing in a plain file", async () => {
    const tagged = await encodePicture(pixels, "webp", 80);
    expect(await verifyMedia(tagged)).toMatchObject({ mark: "tag", signer: null });
    const plain = Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1");
    await expect(verifyMedia(Buffer.from("no media"))).rejects.toThrow("no MP4, PNG, JPEG");
    await expect(verifyMedia(plain)).resolves.toMatchObject({ mark: "none" });
  });

  test("is no longer proven once the certificate has expired, and marks nothing from then on", async () => {
    const files = await certify("short", { days: "1" });
    const signer = await readSigner(files);
    const bytes = await markOne(files);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 86_400_000 });
    try {
      const expected = { mark: "expired", job: "image_1", problems: ["signingCredential.expired"] };
      expect(await verifyMedia(bytes)).toMatchObject(expected);
      const changed = withOtherByte(bytes, bytes.length - 20);
      expect(await verifyMedia(changed)).toMatchObject({ mark: "changed" });
      const origin = { jobId: "image_2", source: "generated", model: { id: "m" } } as const;
      const late = createMarker(signer, "1.2.3").mark(at("picture.png"), "image/png", origin);
      await expect(late).rejects.toMatchObject({
        code: "worker_fault",
        message: expect.stringMatching(
          /^the certificate of PROVENANCE_CERTIFICATE_FILE expired at 2/,
        ),
      });
    } finally {
      vi.useRealTimers();
    }
  });

  test("was changed where a box of its manifest is of another type, or a pixel of another colour", async () => {
    const own = at("own.pem");
    await writeFile(own, await makeDevelopmentSigner());
    const bytes = await markOne({ keyPath: own, certificatePath: own });
    const places = [...bytes.toString("latin1").matchAll(/jumd|IDAT/g)];
    expect(places.length).toBeGreaterThan(6);
    for (const { index } of places) {
      const changed = withOtherByte(bytes, index + 4);
      expect([index, (await verifyMedia(changed)).mark]).toEqual([index, "changed"]);
    }
  });

  test("is not judged where the file is broken, or its manifest elsewhere", async () => {
    const picture = await encodePicture(pixels, "png", 0);
    await expect(verifyMedia(picture.subarray(0, 60))).rejects.toMatchObject({
      code: "invalid_value",
      message: "the file is broken: PNG out of range",
    });
    const linked = await sharp(picture).withXmp(LINK).jpeg().toBuffer();
    await expect(verifyMedia(linked)).rejects.toMatchObject({
      code: "invalid_value",
      message: "its manifest lies at https://example.com/it.c2pa: nothing is fetched",
    });
  });

  test("is refused where no reader would accept the certificate", async () => {
    const good = await certify("good");
    const refused: [Partial<typeof good>, RegExp][] = [
      [{ keyPath: at("nowhere") }, /PROVENANCE_KEY_FILE .*nowhere cannot be read: ENOENT/],
      [{ keyPath: at("good.pem") }, /PROVENANCE_KEY_FILE .* is not what it should be/],
      [{ keyPath: at("ca.key") }, /is not the certificate of PROVENANCE_KEY_FILE/],
      [{ certificatePath: at("good.key") }, /it holds no certificate in PEM/],
      [{ keyPath: at("ca.key"), certificatePath: at("ca.pem") }, /an authority's certificate/],
      [{ keyPath: at("self.key"), certificatePath: at("self.pem") }, /is signed by itself/],
      [await certify("server", { usage: "serverAuth" }), /C2PA wants one of/],
      [await certify("old", { days: "-1" }), /expired at/],
    ];
    for (const [files, reason] of refused)
      await expect(readSigner({ ...good, ...files })).rejects.toThrow(reason);
  });
});

function withOtherByte(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
  return changed;
}
