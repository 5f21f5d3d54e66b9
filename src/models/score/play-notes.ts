import { JobError } from "../../core/errors.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import type { Note } from "./notes.js";
import type { ScoreSettings } from "./settings.js";

/** Notes played at once; of more, the latest are heard. */
const MOST_NOTES = 48;

export interface PlayTask {
  readonly sessions: SessionThread;
  readonly settings: ScoreSettings;
  readonly notes: readonly Note[];
  /** Samples of each channel. */
  readonly length: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** The notes without a room [2, length], window by window; yields the share that is done. */
export async function* playNotes(task: PlayTask): AsyncGenerator<number, Float32Array> {
  const { settings, length, seed, signal } = task;
  const { windowSamples, noiseContextSamples: contextSamples } = settings.synthesiser;
  const noise = createNoise(seed, { windowSamples, contextSamples });
  const dry = new Float32Array(2 * length);
  for (let start = 0; start < length; start += windowSamples) {
    signal.throwIfAborted();
    const hiss = noise.next();
    const window = await playWindow(task, start / settings.sampleRateHz, hiss);
    const kept = Math.min(windowSamples, length - start);
    for (const channel of [0, 1]) {
      const own = window.subarray(channel * windowSamples, channel * windowSamples + kept);
      dry.set(own, channel * length + start);
    }
    yield Math.min(1, (start + windowSamples) / length);
  }
  return dry;
}

/** Sound of one window [2, windowSamples]. */
async function playWindow(
  { sessions, settings, notes }: PlayTask,
  from: number,
  noise: Float32Array,
): Promise<Float32Array> {
  const { windowSamples } = settings.synthesiser;
  const to = from + windowSamples / settings.sampleRateHz;
  const endOf = ({ startSeconds, seconds, sound }: Note) =>
    startSeconds + seconds + (settings.tailSeconds[sound] ?? 0);
  const heard = notes
    .filter((note) => note.startSeconds < to && endOf(note) > from)
    .slice(-MOST_NOTES);
  if (heard.length === 0) return new Float32Array(2 * windowSamples);
  const row = (value: (note: Note) => number) =>
    float32(Float32Array.from(heard, value), [heard.length]);
  const outputs = await sessions.run("synthesiser", {
    sound: int64Of(
      heard.map(({ sound }) => sound),
      [heard.length],
    ),
    pitch: row(({ pitch }) => pitch),
    velocity: row(({ velocity }) => velocity),
    age: row(({ startSeconds }) => from - startSeconds),
    // A note that ends with the piece is told a length beyond it.
    length: row(({ seconds }) => Math.min(seconds, MOST_SECONDS)),
    pan: row(({ pan }) => pan),
    noise: float32(noise, [2, noise.length / 2]),
  });
  const sound = floatsOf(outputs, "waveform");
  if (sound.every(Number.isFinite)) return sound;
  throw new JobError("invalid_output", "the synthesiser made samples that are not numbers");
}

/** Longer than any piece. */
const MOST_SECONDS = 1_000;

/** Uniform, of unit variance: ±√3. */
const REACH = Math.sqrt(3);

/** White noise of two channels in windows that overlap by `contextSamples`; same seed, same noise. */
interface NoiseSource {
  /** The next window with what comes before it [2, context + window]. */
  next(): Float32Array;
}

export function createNoise(
  seed: number,
  { windowSamples, contextSamples }: { windowSamples: number; contextSamples: number },
): NoiseSource {
  const length = contextSamples + windowSamples;
  const random = xorshift(seed);
  let last = Float32Array.from({ length: 2 * length }, random);
  let isFirst = true;
  return {
    next() {
      if (isFirst) {
        isFirst = false;
        return last;
      }
      const noise = new Float32Array(2 * length);
      for (const start of [0, length]) {
        noise.set(last.subarray(start + windowSamples, start + length), start);
        for (let at = start + contextSamples; at < start + length; at += 1) noise[at] = random();
      }
      last = noise;
      return noise;
    },
  };
}

/** 32 bits of state (Marsaglia 2003): cheap, and nothing but a hiss depends on it. */
function xorshift(seed: number): () => number {
  let state = (Math.trunc(seed) ^ 0x9e37_79b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return REACH * ((state >>> 0) / 2 ** 31 - 1);
  };
}
