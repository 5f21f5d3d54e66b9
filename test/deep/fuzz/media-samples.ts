import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { sharp } from "#framemill/media/image.js";

export interface Sample {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Small real pictures: PNG in two forms, JPEG in two, WebP in two. */
export async function pictureSamples(): Promise<Sample[]> {
  const noise = { type: "gaussian", mean: 128, sigma: 30 } as const;
  const picture = sharp({
    create: { width: 96, height: 80, channels: 3, background: "#336699", noise },
  });
  const forms = {
    "plain.png": picture.clone().png(),
    "palette.png": picture.clone().png({ palette: true, progressive: true }),
    "plain.jpeg": picture.clone().withMetadata({ orientation: 6 }).jpeg(),
    "progressive.jpeg": picture.clone().jpeg({ progressive: true }),
    "lossy.webp": picture.clone().webp(),
    "lossless.webp": picture.clone().webp({ lossless: true }),
  };
  const entries = Object.entries(forms);
  return Promise.all(entries.map(async ([name, form]) => ({ name, bytes: await form.toBuffer() })));
}

/** A fifth of a second of a tone in every form that an upload is often in. */
export async function soundSamples(): Promise<Sample[]> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-samples-"));
  try {
    const samples: Sample[] = [];
    for (const name of ["a.wav", "a.mp3", "a.flac", "a.ogg", "a.m4a", "a.webm", "a.aac"]) {
      const path = join(folder, name);
      const source = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=0.2"];
      await runFfmpeg(["-v", "error", "-y", ...source, path]);
      samples.push({ name, bytes: await readFile(path) });
    }
    return samples;
  } finally {
    await rm(folder, { recursive: true });
  }
}
