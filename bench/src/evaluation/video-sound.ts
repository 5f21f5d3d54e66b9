import { runFfmpeg } from "../../../src/media/ffmpeg.js";
import { createPowerSpectrum } from "../../../src/media/power-spectrum.js";
import type { EvaluationContext } from "./evaluator.js";

const RATE_HZ = 48_000;
const FRAME = 4_000;
const BANDS = 24;
const LOWEST_HZ = 50;
const HIGHEST_HZ = 16_000;
const FLOOR_DB = -70;

/**
 * What a clip's sound is like [48]: mean level of 24 bands, in dB about their own mean, then how much each
 * moves. `train/sound_kinds.py` of the package computes its references the same way.
 */
export async function readSoundSignature(
  path: string,
  { ffmpegPath, signal }: EvaluationContext,
): Promise<number[]> {
  const args = ["-v", "error", "-i", path, "-ac", "1", "-ar", `${RATE_HZ}`, "-f", "f32le", "-"];
  const { stdout } = await runFfmpeg(args, { ffmpegPath, signal });
  const samples = new Float32Array(Uint8Array.from(stdout).buffer);
  return soundSignature(samples);
}

/** Samples: mono, 48 kHz. */
function soundSignature(samples: Float32Array): number[] {
  const levels = frameLevels(samples);
  const means = levels.map((row) => averageOf(row));
  const middle = averageOf(means);
  const moves = levels.map((row, band) =>
    Math.sqrt(averageOf(row.map((value) => (value - (means[band] ?? 0)) ** 2))),
  );
  return [...means.map((value) => value - middle), ...moves];
}

/** Level of each band [24] in each frame, dB. */
function frameLevels(samples: Float32Array): number[][] {
  const spectrum = createPowerSpectrum(FRAME);
  const powers = new Float64Array(FRAME / 2 + 1);
  const levels: number[][] = Array.from({ length: BANDS }, () => []);
  for (let start = 0; start + FRAME <= samples.length; start += FRAME) {
    const frame = Float64Array.from({ length: FRAME }, (_, at) => {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * (at + 0.5)) / FRAME);
      return (samples[start + at] ?? 0) * window;
    });
    spectrum(frame, powers);
    for (const [band, level] of levels.entries()) level.push(bandLevel(powers, band));
  }
  return levels;
}

function bandLevel(powers: Float64Array, band: number): number {
  const from = Math.floor((edgeHz(band) / RATE_HZ) * FRAME);
  const to = Math.max(from + 1, Math.floor((edgeHz(band + 1) / RATE_HZ) * FRAME));
  let power = 0;
  for (let bin = from; bin < to; bin++) power += powers[bin] ?? 0;
  return Math.max(FLOOR_DB, 10 * Math.log10(power / (to - from) + 1e-12));
}

function edgeHz(edge: number): number {
  return LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** (edge / BANDS);
}

function averageOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
