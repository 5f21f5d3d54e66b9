import { JobError } from "../../core/errors.js";

export interface Joint {
  readonly sampleRateHz: number;
  /** Silence before the piece at speed 1; 0 for the first. */
  readonly pauseMs: number;
  /** Silences shrink as words do. */
  readonly speed: number;
}

/** Long enough to hide a step, too short to hear. */
const FADE_MS = 5;
/** Below this share of the peak (-46 dB) a model says nothing. */
const SILENCE = 0.005;
/** Kept of a model's own silence before and behind a piece at speed 1, in milliseconds. */
const LEAD_MS = 40;
const TAIL_MS = 100;
/** Peaks above are scaled down to it: clipping is heard, 0.1 dB is not. */
const HIGHEST_PEAK = 0.99;

/**
 * A spoken piece ready to be put behind another: below full scale, its silent ends made even, faded in
 * and out, the pause before it. Mono float32.
 */
export function finishPiece(samples: Float32Array, joint: Joint): Float32Array {
  const peak = samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  const toSamples = (ms: number) => Math.round((ms * joint.sampleRateHz) / 1_000);
  const silence = (ms: number) => toSamples(ms / joint.speed);
  const isLoud = (sample: number) => Math.abs(sample) > SILENCE * peak;
  const first = Math.max(0, samples.findIndex(isLoud) - silence(LEAD_MS));
  const last = Math.min(samples.length, samples.findLastIndex(isLoud) + 1 + silence(TAIL_MS));
  const spoken = peak === 0 ? samples : samples.subarray(first, last);
  const pause = silence(joint.pauseMs);
  const piece = new Float32Array(pause + spoken.length);
  const gain = peak > HIGHEST_PEAK ? HIGHEST_PEAK / peak : 1;
  piece.set(gain === 1 ? spoken : spoken.map((sample) => sample * gain), pause);
  fadeEnds(piece.subarray(pause), toSamples(FADE_MS));
  return piece;
}

/** Throws `invalid_output` for a waveform that is empty or holds what is not a number. */
export function checkSound(samples: Float32Array): void {
  if (samples.length === 0) throw new JobError("invalid_output", "the model made no sound");
  const wrong = samples.findIndex((sample) => !Number.isFinite(sample));
  if (wrong < 0) return;
  const message = `the waveform must hold numbers, sample ${wrong} is ${samples[wrong]}`;
  throw new JobError("invalid_output", message);
}

/** Raised cosines, in place. */
function fadeEnds(samples: Float32Array, length: number): void {
  const fade = Math.min(length, Math.floor(samples.length / 2));
  for (let index = 0; index < fade; index += 1) {
    const gain = 0.5 - 0.5 * Math.cos((Math.PI * index) / fade);
    const end = samples.length - 1 - index;
    samples[index] = gain * (samples[index] ?? 0);
    samples[end] = gain * (samples[end] ?? 0);
  }
}
