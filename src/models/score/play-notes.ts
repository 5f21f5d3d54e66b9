import { JobError } from "../../core/errors.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import type { Plan, Writing } from "./plan.js";
import type { ScorePart, ScoreSettings } from "./settings.js";

/** Notes played at once; of more, the latest are heard. */
const MOST_NOTES = 48;

interface PlayTask {
  readonly sessions: Graphs;
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
  const audible = notes
    .filter((note) => note.startSeconds < to && endOf(note) > from)
    .slice(-MOST_NOTES);
  if (audible.length === 0) return new Float32Array(2 * windowSamples);
  const row = (value: (note: Note) => number) =>
    float32(Float32Array.from(audible, value), [audible.length]);
  const outputs = await sessions.run("synthesiser", {
    sound: int64Of(
      audible.map(({ sound }) => sound),
      [audible.length],
    ),
    pitch: row(({ pitch }) => pitch),
    velocity: row(({ velocity }) => velocity),
    age: row(({ startSeconds }) => from - startSeconds),
    // A note that ends with the piece is given a length beyond it.
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

/** A note as the synthesiser plays it. */
interface Note {
  readonly sound: number;
  /** MIDI number. */
  readonly pitch: number;
  /** 0..1. */
  readonly velocity: number;
  readonly startSeconds: number;
  readonly seconds: number;
  readonly pan: number;
}

/** Drum sounds die away by themselves. */
const DRUM_SECONDS = 2;
const DRUM_PITCH = 60;
/** The tonic is played in the octave from F sharp below to F above the voice's C. */
const HIGHEST_SHIFT = 6;

/** Notes of all voices by their start; those that no player was chosen for are silent. */
export function notesOf(settings: ScoreSettings, plan: Plan, written: readonly Writing[]): Note[] {
  const startOf = (step: number) => {
    const delay = written[step]?.extras.at(-1) ?? 0;
    return (step + delay) * plan.secondsPerStep;
  };
  const notes = settings.parts.flatMap((part, number) => {
    const player = plan.players[part.track] ?? 0;
    if (player === 0) return [];
    const line = { part, number, player, settings, plan, written, startOf };
    return part.sounds === undefined ? pitchedLine(line) : drumLine(line);
  });
  return notes.toSorted((one, other) => one.startSeconds - other.startSeconds);
}

interface Line {
  readonly part: ScorePart;
  readonly number: number;
  readonly player: number;
  readonly settings: ScoreSettings;
  readonly plan: Plan;
  readonly written: readonly Writing[];
  /** Seconds from the piece's start at which a step sounds. */
  readonly startOf: (step: number) => number;
}

function drumLine({ part, number, written, startOf }: Line): Note[] {
  return written.flatMap(({ tokens, extras }, step) => {
    const sound = part.sounds?.[(tokens[number] ?? 0) - 1];
    if (sound === undefined) return [];
    const velocity = extras[number] ?? 0;
    const { pan } = part;
    const startSeconds = startOf(step);
    return [{ sound, pitch: DRUM_PITCH, velocity, startSeconds, seconds: DRUM_SECONDS, pan }];
  });
}

function pitchedLine({ part, number, player, settings, plan, written, startOf }: Line): Note[] {
  const { held, firstPitch } = settings.tokens;
  const { tonic } = plan.intent;
  const lowest = (part.lowestNote ?? 0) + (tonic > HIGHEST_SHIFT ? tonic - 12 : tonic);
  const changes = written.flatMap(({ tokens }, step) => (tokens[number] === held ? [] : [step]));
  return changes.flatMap((step, place) => {
    const pitch = (written[step]?.tokens[number] ?? 0) - firstPitch;
    if (pitch < 0) return [];
    const startSeconds = startOf(step);
    const next = changes[place + 1];
    const endSeconds = next === undefined ? Infinity : startOf(next);
    return [
      {
        sound: player - 1,
        pitch: lowest + pitch,
        velocity: written[step]?.extras[number] ?? 0,
        startSeconds,
        seconds: endSeconds - startSeconds,
        pan: part.pan,
      },
    ];
  });
}
