import type { SessionThread } from "../../runtime/ort/session.js";
import { choose } from "./choose.js";
import type { Chance, Intent } from "./read-prompt.js";
import type { ScoreSettings } from "./settings.js";

/** One bar of the plan: section, repeat, two chords, whether each track plays, energy. */
export type BarPlan = readonly number[];

/** What a piece is before its notes. */
export interface Plan {
  readonly intent: Intent;
  /** Player of each track: 0 nobody, else 1 + number of the instrument. */
  readonly players: readonly number[];
  readonly bars: readonly BarPlan[];
  readonly stepsPerBar: number;
  readonly secondsPerStep: number;
}

export const SECTION = 0;
export const REPEAT = 1;
export const FIRST_CHORD = 2;
export const SECOND_CHORD = 3;
const FIRST_TRACK = 4;
/** The networks tell apart no more bars than these, before and after a bar and since its section began. */
const MOST_BARS = 63;
const MOST_AGE = 15;
/** A piece's last chord begins at least so long before its end. */
const LAST_CHORD_SECONDS = 1.2;
/** Pieces shorter than this may be a single chord. */
const SHORT_SECONDS = 4;

export interface PlanTask {
  readonly sessions: SessionThread;
  readonly settings: ScoreSettings;
  readonly chance: Chance;
  readonly signal: AbortSignal;
}

/** Chooses the players, then the bars one after the other. */
export async function makePlan(
  { sessions, settings, chance, signal }: PlanTask,
  intent: Intent,
  seconds: number,
): Promise<Plan> {
  const { arranger, planner } = settings.sampler;
  const nature = natureOf(intent, settings);
  const { tokens: players } = await choose(sessions, "arranger", {
    reading: { context: [...nature, intent.energy, ...intent.wishes] },
    voices: settings.tracks.length,
    draw: arranger,
    chance,
  });
  const beats = settings.beats[intent.meter] ?? 4;
  const count = countBars(seconds, { barSeconds: (beats * 60) / intent.bpm, settings });
  const voices = FIRST_TRACK + settings.tracks.length + 1;
  const bars: BarPlan[] = [];
  while (bars.length < count) {
    signal.throwIfAborted();
    const history = settings.barLags.map(
      (lag) => bars.at(-lag) ?? Array.from({ length: voices }, () => settings.tokens.noBar),
    );
    // A negative index beyond the start is undefined, as a lag must be.
    const place = [
      Math.min(bars.length, MOST_BARS),
      Math.min(count - 1 - bars.length, MOST_BARS),
      sectionAge(bars, bars.length - 1),
    ];
    const context = [...place, ...nature, intent.energy, ...players];
    const reading = { history, context };
    bars.push(
      (await choose(sessions, "planner", { reading, voices, draw: planner, chance })).tokens,
    );
  }
  return {
    intent,
    players,
    bars,
    stepsPerBar: beats * settings.stepsPerBeat,
    secondsPerStep: 60 / intent.bpm / settings.stepsPerBeat,
  };
}

/** Genre, mode, metre and pace, as every network reads them. */
export function natureOf({ genre, mode, meter, bpm }: Intent, { tempo }: ScoreSettings): number[] {
  const pace = Math.floor(Math.log(bpm / tempo.lowestBpm) / tempo.paceLog);
  return [genre, mode, meter, Math.min(tempo.paces - 1, Math.max(0, pace))];
}

/** Bars since the section of a bar, or its repeat, began; 0 before the first. */
export function sectionAge(bars: readonly BarPlan[], at: number): number {
  let first = at;
  const isSame = (one?: BarPlan, other?: BarPlan) =>
    one !== undefined && one[SECTION] === other?.[SECTION] && one[REPEAT] === other?.[REPEAT];
  while (first > 0 && isSame(bars[first - 1], bars[first])) first -= 1;
  return Math.min(MOST_AGE, Math.max(0, at - first));
}

/** Numbers that say whether each track plays in a bar. */
export function tracksOf(bar: BarPlan): readonly number[] {
  return bar.slice(FIRST_TRACK, -1);
}

/** As many bars as fit, the last one being the chord that rings until the end. */
function countBars(
  seconds: number,
  { barSeconds, settings }: { readonly barSeconds: number; readonly settings: ScoreSettings },
): number {
  const least = seconds >= SHORT_SECONDS ? 2 : 1;
  const fitting = Math.floor((seconds - LAST_CHORD_SECONDS) / barSeconds) + 1;
  return Math.min(settings.mostBars, Math.max(least, fitting));
}
