import type { Writing } from "./choose.js";
import type { Plan } from "./plan.js";
import type { ScoreSettings, ScorePart } from "./settings.js";

/** A note as the synthesiser plays it. */
export interface Note {
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
