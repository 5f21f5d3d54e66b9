import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ArtifactStore } from "#framemill/storage/artifact-store.js";
import { createLocalStore } from "#framemill/storage/local.js";
import { openArtifactStore } from "#framemill/storage/index.js";
import { createS3Store } from "#framemill/storage/s3.js";
import { BUCKET, S3_KEY, type S3Server, startS3Server } from "../../support/s3-server.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const clip = randomBytes(11 * 1024 * 1024 + 7);
const sha256 = createHash("sha256").update(clip).digest("hex");
const put = { id: "video_1/7/content.mp4", variant: "content", mediaType: "video/mp4" };

let scratch: string;
let clipPath: string;
let server: S3Server;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "framemill-storage-"));
  clipPath = join(scratch, "clip.mp4");
  await writeFile(clipPath, clip);
  server = await startS3Server(join(scratch, "s3"));
});

afterAll(async () => {
  await server.close();
  await rm(scratch, { recursive: true });
});

const stores: [string, () => ArtifactStore][] = [
  ["a local folder", () => createLocalStore(join(scratch, "local"))],
  [
    "an S3 server",
    () => createS3Store({ ...s3Options(), partBytes: 5 * 1024 * 1024, pageSize: 2 }),
  ],
];

describe.each(stores)("artifacts in %s", (_, openStore) => {
  let store: ArtifactStore;

  beforeAll(async () => {
    store = openStore();
  });

  afterEach(async () => {
    for (const prefix of ["video_1/", "video_10/"]) await store.removeAll(prefix);
  });

  afterAll(() => store.close());

  it("streams a file up, hashes it on the way and gives the same bytes back", async () => {
    const artifact = await store.putFile(put, clipPath);
    expect(artifact).toEqual({ ...put, byteLength: clip.byteLength, sha256 });
    expect(clip.equals(await store.readBytes(put.id))).toBe(true);
    expect(await store.findSize(put.id)).toBe(clip.byteLength);
    expect(clip.equals(await buffer(await store.openRead(put.id)))).toBe(true);
  });

  it("reads a range with both ends included, also across the parts of an upload", async () => {
    await store.putFile(put, clipPath);
    const start = 5 * 1024 * 1024 - 3;
    const range = await buffer(await store.openRead(put.id, { start, end: start + 9 }));
    expect(range.equals(clip.subarray(start, start + 10))).toBe(true);
    const beyond = { start: clip.byteLength, end: clip.byteLength + 1 };
    await expect(store.openRead(put.id, beyond)).rejects.toMatchObject({
      code: "range_not_satisfiable",
    });
  });

  it("answers not_found for a missing file", async () => {
    await expect(store.openRead("video_1/7/none.mp4")).rejects.toMatchObject({ code: "not_found" });
    expect(await store.findSize("video_1/7")).toBeUndefined();
    expect(await store.findSize("video_1/7/never.mp4")).toBeUndefined();
    await expect(store.readBytes("video_1/7")).rejects.toMatchObject({ code: "not_found" });
  });

  it("lists page after page in order and removes one job's artifacts only", async () => {
    const variants = ["content.mp4", "spritesheet.webp", "thumbnail.webp"];
    const ids = variants.map((name) => `video_1/7/${name}`);
    for (const id of [...ids, "video_10/1/content.mp4"])
      await store.putBytes({ ...put, id }, Buffer.from(id));
    expect(await store.list("video_1/")).toEqual(ids);
    expect(await store.removeAll("video_1/")).toBe(3);
    expect(await store.list("video_1/")).toEqual([]);
    expect(await store.list("")).toEqual(["video_10/1/content.mp4"]);
    expect(await store.removeAll("video_1/")).toBe(0);
  });

  it("lists what stays while a folder beside it comes and goes", async () => {
    await store.putBytes({ ...put, id: "video_1/1/live/head.mp4" }, Buffer.from("head"));
    const shown = { ...put, id: "video_1/1/preview/newest.webp" };
    for (let round = 0; round < 100; round += 1) {
      await store.putBytes(shown, Buffer.from("picture"));
      const [listed] = await Promise.all([
        store.list("video_1/"),
        store.removeAll("video_1/1/preview/"),
      ]);
      expect(listed).toContain("video_1/1/live/head.mp4");
    }
    expect(await store.removeAll("video_1/")).toBe(1);
  });

  it("leaves nothing behind when an upload is aborted half-way", async () => {
    const abort = new AbortController();
    const pipe = join(scratch, `${randomUUID()}.pipe`);
    await promisify(execFile)("mkfifo", [pipe]);
    const upload = store.putFile(put, pipe, abort.signal);
    const end = upload.catch((error: unknown) => error);
    const writer = await open(pipe, "w");
    // A pipe holds some KiB: when this is written, the upload has read more than one part.
    await writer.writeFile(clip.subarray(0, 6 * 1024 * 1024));
    abort.abort();
    await writer.close();
    expect(await end).toMatchObject({ code: "cancelled" });
    expect(await store.list("")).toEqual([]);
    await expect(store.putFile(put, clipPath, abort.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  it("leaves nothing behind when the file to upload is missing", async () => {
    await expect(store.putFile(put, join(scratch, "none.mp4"))).rejects.toThrow(/ENOENT/);
    expect(await store.list("")).toEqual([]);
  });

  it.each([
    "../etc/passwd",
    "/etc/passwd",
    "video_1//x",
    "video_1/.hidden",
    "video_1/a b",
    "video_1/é",
    "",
  ])("refuses the id %j", async (id) => {
    const refused = { code: "invalid_value" };
    await expect(store.putBytes({ ...put, id }, clip)).rejects.toMatchObject(refused);
    await expect(store.putFile({ ...put, id }, clipPath)).rejects.toMatchObject(refused);
    await expect(store.openRead(id)).rejects.toMatchObject(refused);
    await expect(store.removeAll(`${id}/`)).rejects.toMatchObject(refused);
  });

  it("removes by a job's folder only", async () => {
    await expect(store.removeAll("video_1")).rejects.toThrow("must end in /");
    await expect(store.removeAll("")).rejects.toThrow("must end in /");
  });

  it("proves itself writable and leaves no trace", async () => {
    await store.probe();
    expect(await store.list("")).toEqual([]);
  });
});

describe("opening a store", () => {
  it("takes the bucket when one is set, else a folder below the data folder", async () => {
    const settings = { dataDir: scratch, s3Region: "us-east-1" };
    await (await openArtifactStore(settings)).putBytes(put, Buffer.from("x"));
    expect(await readdir(join(scratch, "artifacts", "video_1", "7"))).toEqual(["content.mp4"]);
    const { endpoint, accessKeyId, secretAccessKey } = s3Options();
    const s3 = {
      s3Bucket: BUCKET,
      s3Endpoint: endpoint,
      s3AccessKeyId: accessKeyId,
      s3SecretAccessKey: secretAccessKey,
    };
    const store = await openArtifactStore({ ...settings, ...s3 });
    await store.probe();
    await store.close();
  });

  it("says which store cannot be used, and why", async () => {
    const blocked = join(scratch, "a-file");
    await writeFile(blocked, "");
    await expect(createLocalStore(blocked).probe()).rejects.toThrow(
      `artifact store ${blocked} cannot be used`,
    );
    const store = createS3Store({ ...s3Options(), bucket: "no-such-bucket" });
    await expect(store.probe()).rejects.toThrow("bucket no-such-bucket cannot be used");
    await store.close();
  });
});

function s3Options() {
  const key = S3_KEY;
  return {
    bucket: BUCKET,
    endpoint: server.endpoint,
    region: "us-east-1",
    accessKeyId: key,
    secretAccessKey: key,
  };
}

it("removes unfinished files of killed processes, and those not written to for an hour", async () => {
  const folder = await mkdtemp(join(tmpdir(), "framemill-unfinished-"));
  const local = fileURLToPath(import.meta.resolve("#framemill/storage/local.js"));
  const code = `const { createLocalStore } = await import(${JSON.stringify(local)});
    const store = createLocalStore(${JSON.stringify(folder)});
    void store.putFile({ id: "a", variant: "content", mediaType: "x/y" }, "/dev/zero");
    setInterval(() => {}, 1000);`;
  const writer = spawn(process.execPath, ["--input-type=module", "--eval", code]);
  const left = () => readdir(join(folder, ".unfinished")).catch(() => []);
  await expect.poll(left).toHaveLength(1);
  const store = createLocalStore(folder);
  await store.putBytes({ ...put, id: "b" }, Buffer.from("b"));
  expect(await left()).toHaveLength(1);
  writer.kill("SIGKILL");
  await once(writer, "exit");
  const [old, young] = ["elsewhere-1.1", "elsewhere-1.2"].map((owner) =>
    join(folder, ".unfinished", `${owner}.${randomUUID()}`),
  );
  for (const path of [old, young]) await writeFile(path ?? "", "");
  const hoursAgo = new Date(Date.now() - 7_200_000);
  await utimes(old ?? "", hoursAgo, hoursAgo);
  await createLocalStore(folder).putBytes({ ...put, id: "c" }, Buffer.from("c"));
  expect((await left()).map((name) => join(folder, ".unfinished", name))).toEqual([young]);
  await rm(folder, { recursive: true });
});
