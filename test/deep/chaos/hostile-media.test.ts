import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toJobError } from "#framemill/core/errors.js";
import { decodeAudio } from "#framemill/media/decode-audio.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { readImage } from "#framemill/media/image.js";
import { pictureSamples, type Sample, soundSamples } from "../fuzz/media-samples.js";
import { edits, mutate } from "../fuzz/mutate.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";
import { pngBomb } from "../../support/png-bomb.js";

/** What of a bomb is really there. */
const MOST_BOMB_BYTES = 8e6;

const FUZZED = countOf({ short: 40, full: 2_000 });
const PLACES = countOf({ short: 2, full: 4 });
const SEED = Number(process.env["CHAOS_SEED"] ?? 1);
const MOST_MS = limitOf(2_000);
const MOST_BYTES = 512 * 2 ** 20;

let folder: string;
let secretPath: string;
let server: Server;
/** What was fetched from the address that playlists name. */
let fetched = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-hostile-media-"));
  secretPath = join(folder, "another-tenants.wav");
  const tone = ["-f", "lavfi", "-i", "sine=frequency=997:duration=3"];
  await runFfmpeg(["-v", "error", ...tone, secretPath]);
  server = createServer((_request, response) => {
    fetched += 1;
    response.end("secret");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server?.close();
  await rm(folder, { recursive: true });
});

/** Lists that make a careless ffmpeg open other files. */
function lists(): readonly string[] {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret.ts`;
  const places = [secretPath, url, `file://${secretPath}`, `concat:${secretPath}|${secretPath}`];
  return places
    .slice(0, PLACES)
    .flatMap((place) => [
      `#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n${place}\n#EXT-X-ENDLIST\n`,
      `#EXTM3U\n#EXT-X-MAP:URI="${place}"\n#EXT-X-KEY:METHOD=AES-128,URI="${place}"\n#EXTINF:3,\n${place}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${place}'\n`,
      `<?xml version="1.0"?><MPD><Period><AdaptationSet mimeType="audio/mp4"><BaseURL>${place}</BaseURL></AdaptationSet></Period></MPD>`,
      `v=0\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\na=control:${place}\n`,
      `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><image href="${place}"/></svg>`,
    ]);
}

/** What tells a reader that the list is something else. */
const DISGUISES = [
  "",
  "\x89PNG\r\n\x1a\n",
  "\xff\xd8\xff\xe0",
  "RIFF\x24\0\0\0WEBP",
  "RIFF\x24\0\0\0WAVE",
  "fLaC",
  "OggS\0",
  "ID3\x04\0\0\0\0\0\0",
  "\xff\xfb\x90\x00",
  "\0\0\0\x18ftypmp42",
  "\x1aE\xdf\xa3",
  "#!AMR\n",
  "\0\0\x01\xba",
];

function polyglots(): Sample[] {
  return DISGUISES.flatMap((disguise) =>
    lists().map((list) => ({
      name: `${JSON.stringify(disguise)} before ${list.slice(0, 12)}`,
      bytes: Buffer.concat([Buffer.from(disguise, "latin1"), Buffer.from(list)]),
    })),
  );
}

/** Kilobytes that become gigabytes where a reader believes them. */
async function bombs(): Promise<Sample[]> {
  const sizes: [number, number][] = [
    [16_384, 16_384],
    [65_535, 65_535],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [8_000, 5_000],
  ];
  const png = sizes.map(([width, height]) => ({
    name: `PNG of ${width} × ${height}`,
    bytes: pngBomb(width, height, MOST_BOMB_BYTES),
  }));
  const [jpeg, webp] = await Promise.all(
    ["plain.jpeg", "lossless.webp"].map(async (name) => {
      const sample = (await pictureSamples()).find((each) => each.name === name);
      return sample?.bytes ?? Buffer.alloc(0);
    }),
  );
  const frame = (jpeg ?? Buffer.alloc(0)).indexOf(Buffer.from([0xff, 0xc0]));
  jpeg?.writeUInt16BE(65_500, frame + 5);
  jpeg?.writeUInt16BE(65_500, frame + 7);
  // VP8L: 14 bits of width and of height, less one, behind the signature byte 0x2f.
  webp?.writeUInt32LE(0x0fff_ffff, webp.indexOf("VP8L") + 9);
  return [
    ...png,
    { name: "JPEG that says 65 500 × 65 500", bytes: jpeg ?? Buffer.alloc(0) },
    { name: "WebP that says 16 384 × 16 384", bytes: webp ?? Buffer.alloc(0) },
  ];
}

async function fuzzed(): Promise<Sample[]> {
  const samples = [...(await pictureSamples()), ...(await soundSamples())];
  const one = fc.record({ sample: fc.constantFrom(...samples), edits });
  return fc.sample(one, { numRuns: FUZZED, seed: SEED }).map(({ sample, edits: changes }) => ({
    name: `${sample.name} with ${JSON.stringify(changes)}`,
    bytes: mutate(sample.bytes, changes),
  }));
}

interface Reading {
  readonly outcome: "taken" | "refused" | "crashed";
  readonly ms: number;
  /** Whether the sound is the other tenant's tone. */
  readonly foreign: boolean;
}

async function readAs(sample: Sample, kind: "picture" | "sound"): Promise<Reading> {
  const path = join(folder, "decoded.pcm");
  await rm(path, { force: true });
  const startedAt = performance.now();
  const { signal } = new AbortController();
  const decode = { path, sampleRateHz: 16_000, maxSeconds: 60, signal, param: "file" };
  const work =
    kind === "picture"
      ? readImage(sample.bytes, { param: "image" })
      : decodeAudio(sample.bytes, decode);
  const outcome = await work.then(
    () => "taken" as const,
    (thrown: unknown) => (toJobError(thrown).httpStatus < 500 ? "refused" : "crashed"),
  );
  const ms = performance.now() - startedAt;
  const samples = kind === "sound" ? await readFile(path).catch(() => Buffer.alloc(0)) : undefined;
  return { outcome, ms, foreign: samples !== undefined && toneShare(samples) > 0.5 };
}

/** How much of 16 kHz mono PCM is a 997 Hz tone, 0 to 1 (Goertzel over the first second). */
function toneShare(pcm: Buffer): number {
  const count = Math.min(16_000, Math.floor(pcm.byteLength / 2));
  const turn = (2 * Math.PI * 997) / 16_000;
  let [cosine, sine, energy] = [0, 0, 0];
  for (let at = 0; at < count; at++) {
    const level = pcm.readInt16LE(2 * at);
    cosine += level * Math.cos(turn * at);
    sine += level * Math.sin(turn * at);
    energy += level * level;
  }
  return energy === 0 ? 0 : (2 * (cosine ** 2 + sine ** 2)) / (count * energy);
}

/** Most memory that any ffmpeg below this process has held, as the kernel notes it. */
function watchChildren(): { stop(): void; peakBytes(): number } {
  let peak = 0;
  const timer = setInterval(() => void look().then((bytes) => (peak = Math.max(peak, bytes))), 10);
  return { stop: () => clearInterval(timer), peakBytes: () => peak };
}

async function look(): Promise<number> {
  const task = `/proc/${process.pid}/task`;
  const threads = await readdir(task).catch(() => []);
  const children = threads.map((id) => readFile(`${task}/${id}/children`, "utf8").catch(() => ""));
  const pids = (await Promise.all(children)).join(" ").split(/\s+/).filter(Boolean);
  const statuses = pids.map((pid) => readFile(`/proc/${pid}/status`, "utf8").catch(() => ""));
  const kilobytes = (await Promise.all(statuses)).map((text) =>
    Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0),
  );
  return Math.max(0, ...kilobytes) * 1_024;
}

it(
  "T16: reads no foreign byte, crashes nowhere and stays within time and memory",
  { timeout: 600_000 },
  async () => {
    // The measure itself: the secret is heard where it is really read.
    const secret = await readAs({ name: "secret", bytes: await readFile(secretPath) }, "sound");
    expect(secret).toMatchObject({ outcome: "taken", foreign: true });
    const children = watchChildren();
    const hostile = [...polyglots(), ...(await bombs()), ...(await fuzzed())];
    const readings: (Reading & { readonly name: string })[] = [];
    for (const sample of hostile)
      for (const kind of ["picture", "sound"] as const)
        readings.push({ name: `${kind}: ${sample.name}`, ...(await readAs(sample, kind)) });
    children.stop();
    const foreign = readings.filter((each) => each.foreign).map(({ name }) => name);
    const crashed = readings.filter(({ outcome }) => outcome === "crashed").map(({ name }) => name);
    const slow = readings.filter(({ ms }) => ms > MOST_MS).map(({ name }) => name);
    const peak = Math.max(process.resourceUsage().maxRSS * 1_024, children.peakBytes());
    const slowest = Math.max(...readings.map(({ ms }) => ms));
    const holds =
      foreign.length + crashed.length + slow.length + fetched === 0 && peak < MOST_BYTES;
    await noteVerdict({
      promise: "T16",
      injected: `${polyglots().length} polyglots, ${(await bombs()).length} bombs, ${FUZZED} damaged files, as picture and as sound; seed ${SEED}`,
      counted: `foreign reads ${foreign.length + fetched}; crashes ${crashed.length}; slowest ${Math.round(slowest)} ms; most memory ${Math.round(peak / 2 ** 20)} MiB`,
      holds,
    });
    expect({ foreign, crashed, slow, fetched }).toEqual({
      foreign: [],
      crashed: [],
      slow: [],
      fetched: 0,
    });
    expect(peak).toBeLessThan(MOST_BYTES);
  },
);
