import { JobError } from "../../core/errors.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import type { ScoreSettings } from "./settings.js";

/** Mean power that pieces are brought to before the limiter, about -16 LUFS for music. */
const TARGET_POWER = 10 ** (-17 / 10);
const MOST_GAIN = 20;
/** Parts of a piece whose power counts: not those that are this far below the mean (BS.1770's gate). */
const BLOCK_SECONDS = 0.4;
const GATE = 0.1;
/** The end fades over this long, or over a fifth of a short piece. */
const FADE_SECONDS = 1.5;
const FADE_FRACTION = 0.2;

export interface MasterTask {
  readonly sessions: Graphs;
  readonly settings: ScoreSettings;
  /** [2, length]. */
  readonly dry: Float32Array;
  readonly signal: AbortSignal;
}

/** The piece in its room, at its loudness, with a faded end [2, length]; yields the share that is done. */
export async function* master(task: MasterTask): AsyncGenerator<number, Float32Array> {
  const { settings, dry, signal } = task;
  const length = dry.length / 2;
  const { windowSamples } = settings.room;
  const gain = gainFor(dry, settings.sampleRateHz);
  const sound = new Float32Array(dry.length);
  for (let start = 0; start < length; start += windowSamples) {
    signal.throwIfAborted();
    const wet = await applyRoom(task, start, gain);
    const kept = Math.min(windowSamples, length - start);
    for (const channel of [0, 1]) {
      const own = wet.subarray(channel * windowSamples, channel * windowSamples + kept);
      sound.set(own, channel * length + start);
    }
    yield Math.min(1, (start + windowSamples) / length);
  }
  fadeEnd(sound, settings.sampleRateHz);
  return sound;
}

async function applyRoom(
  { sessions, settings, dry }: MasterTask,
  start: number,
  gain: number,
): Promise<Float32Array> {
  const { windowSamples, contextSamples } = settings.room;
  const length = dry.length / 2;
  const width = contextSamples + windowSamples;
  const input = new Float32Array(2 * width);
  const from = Math.max(0, start - contextSamples);
  const to = Math.min(length, start + windowSamples);
  for (const channel of [0, 1]) {
    const own = dry.subarray(channel * length + from, channel * length + to);
    input.set(own, channel * width + from - (start - contextSamples));
  }
  const outputs = await sessions.run("room", {
    dry: float32(input, [2, width]),
    gain: float32(Float32Array.of(gain), [1]),
  });
  const wet = floatsOf(outputs, "waveform");
  if (wet.every(Number.isFinite)) return wet;
  throw new JobError("invalid_output", "the room made samples that are not numbers");
}

/** What brings the louder parts of a piece to the target. */
function gainFor(dry: Float32Array, sampleRateHz: number): number {
  const length = dry.length / 2;
  const size = Math.max(1, Math.round(BLOCK_SECONDS * sampleRateHz));
  const powers: number[] = [];
  for (let start = 0; start < length; start += size) {
    const end = Math.min(length, start + size);
    let power = 0;
    for (let at = start; at < end; at += 1)
      power += (dry[at] ?? 0) ** 2 + (dry[length + at] ?? 0) ** 2;
    powers.push(power / (end - start));
  }
  const mean = meanOf(powers);
  const loud = meanOf(powers.filter((power) => power >= GATE * mean));
  return loud > 0 ? Math.min(MOST_GAIN, Math.sqrt(TARGET_POWER / loud)) : 1;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function fadeEnd(sound: Float32Array, sampleRateHz: number): void {
  const length = sound.length / 2;
  const count = Math.round(Math.min(FADE_SECONDS * sampleRateHz, FADE_FRACTION * length));
  for (let left = 0; left < count; left += 1) {
    const gain = 0.5 - 0.5 * Math.cos((Math.PI * left) / count);
    for (const end of [length, 2 * length]) {
      const at = end - 1 - left;
      sound[at] = (sound[at] ?? 0) * gain;
    }
  }
}
