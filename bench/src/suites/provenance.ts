import { copyFile, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../src/config.js";
import { writeAudioFile } from "../../../src/media/audio-encoder.js";
import { openEncoder } from "../../../src/media/encoder.js";
import { encodePicture } from "../../../src/media/image.js";
import { createMarker, makeDevelopmentSigner, readSigner } from "../../../src/provenance/index.js";
import { type BenchResult, compare, distribute, machine, round } from "../report/measure.js";

/** Of a file of any kind. */
const MOST_CPU_MS = 10;
/** Files of each kind that are marked in a round, one kind after the other. */
const FILES = 20;

interface Sample {
  readonly kind: string;
  readonly path: string;
  readonly mediaType: string;
}

/** What a manifest costs: CPU time, and bytes, of a file of each kind. */
export async function runProvenance(config: Config, rounds: number): Promise<BenchResult> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-provenance-"));
  try {
    const own = join(folder, "own.pem");
    await writeFile(own, await makeDevelopmentSigner());
    const marker = createMarker(await readSigner({ keyPath: own, certificatePath: own }), "bench");
    await marker.prepare();
    const samples = await makeSamples(folder, config);
    const cpuMs = new Map(samples.map(({ kind }): [string, number[]] => [kind, []]));
    const added = new Map<string, number>();
    for (let turn = 0; turn < FILES * rounds; turn += 1)
      for (const { kind, path, mediaType } of samples) {
        const copy = join(folder, `copy${turn % 2}`);
        await copyFile(path, copy);
        const before = process.cpuUsage();
        const origin = { jobId: "bench", source: "generated", model: { id: kind } } as const;
        await marker.mark(copy, mediaType, origin);
        const { user, system } = process.cpuUsage(before);
        cpuMs.get(kind)?.push((user + system) / 1_000);
        added.set(kind, (await stat(copy)).size - (await stat(path)).size);
      }
    const sizes = await Promise.all(samples.map(async ({ path }) => (await stat(path)).size));
    const timesOf = (kind: string) => (cpuMs.get(kind) ?? []).slice(FILES);
    return {
      suite: "provenance",
      conditions: { ...machine(), rounds, files: FILES },
      rows: samples.map(({ kind }) =>
        compare(
          { what: `${kind}: CPU to mark / allowed`, unit: "ms", target: 1 },
          timesOf(kind).map((ours) => ({ ours, against: MOST_CPU_MS })),
        ),
      ),
      distributions: samples.map(({ kind }) =>
        distribute({ what: `${kind}: CPU to mark`, unit: "ms" }, timesOf(kind)),
      ),
      counts: samples.map(({ kind }, at) => ({
        file: kind,
        KiB: round((sizes[at] ?? 0) / 1_024),
        "added KiB": round((added.get(kind) ?? 0) / 1_024),
      })),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files as jobs leave them: a clip of four seconds, pictures of a million pixels, ten seconds of sound. */
async function makeSamples(folder: string, { ffmpegPath }: Config): Promise<Sample[]> {
  const [width, height] = [1_024, 1_024];
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, at) => (at * at) % 251);
  const picture = { pixels, width, height };
  const sound = Float32Array.from({ length: 10 * 24_000 }, (_, at) => 0.5 * Math.sin(at / 17));
  const pictures = ["png", "jpeg", "webp"] as const;
  const sounds = { wav: "audio/wav", mp3: "audio/mpeg", flac: "audio/flac" } as const;
  const samples: Sample[] = [];
  for (const kind of pictures) {
    const path = join(folder, `picture.${kind}`);
    await writeFile(path, await encodePicture(picture, kind, 90));
    samples.push({ kind, path, mediaType: `image/${kind}` });
  }
  for (const kind of ["wav", "mp3", "flac"] as const) {
    const path = join(folder, `sound.${kind}`);
    await writeAudioFile(path, sound, {
      format: kind,
      sampleRateHz: 24_000,
      channels: 1,
      ffmpegPath,
    });
    samples.push({ kind, path, mediaType: sounds[kind] });
  }
  const path = join(folder, "clip.mp4");
  await encodeClip(path, ffmpegPath);
  return [...samples, { kind: "mp4", path, mediaType: "video/mp4" }];
}

async function encodeClip(path: string, ffmpegPath: string): Promise<void> {
  const [width, height, frameCount] = [1_280, 720, 96];
  const encoder = await openEncoder({ width, height, frameCount, path, ffmpegPath });
  try {
    const frame = new Uint8Array((width * height * 3) / 2);
    for (let at = 0; at < frameCount; at += 1) {
      for (let index = 0; index < frame.length; index += 1)
        frame[index] = ((index % width) + 3 * at) % 199;
      await encoder.write(frame);
    }
    await encoder.finish();
  } finally {
    await encoder.abort();
  }
}
