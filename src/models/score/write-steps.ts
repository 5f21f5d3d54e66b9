import {
  type BarPlan,
  choose,
  FIRST_CHORD,
  natureOf,
  type Plan,
  type PlanTask,
  REPEAT,
  SECOND_CHORD,
  SECTION,
  sectionAge,
  tracksOf,
  type Writing,
} from "./plan.js";
import type { ScoreSettings } from "./settings.js";

/** Step of a bar from which its second chord counts. */
const SECOND_CHORD_STEP = 8;
const BAR_CYCLE = 8;
const MOST_BARS_LEFT = 7;

/** Writes a piece step by step; yields how many steps are done. */
export async function* writeSteps(
  { sessions, settings, chance, signal }: PlanTask,
  plan: Plan,
): AsyncGenerator<number, readonly Writing[]> {
  const written: Writing[] = [];
  const voices = settings.parts.length;
  const sounding = createSounding(settings);
  const count = plan.bars.length * plan.stepsPerBar;
  while (written.length < count) {
    signal.throwIfAborted();
    const reading = {
      history: historyOf({ settings, plan, written, sounding }),
      context: contextOf(settings, plan, written.length),
    };
    const draw = settings.sampler.composer;
    const next = await choose(sessions, "composer", { reading, voices, draw, chance });
    sounding.add(next.tokens);
    written.push(next);
    yield written.length;
  }
  return written;
}

interface Sounding {
  /** The last token of each voice other than "go on". */
  readonly last: number[];
  /** How many steps ago it was. */
  readonly age: number[];
  add(tokens: readonly number[]): void;
}

function createSounding({ parts, tokens: { held, stop, oldest } }: ScoreSettings): Sounding {
  const last = parts.map(() => stop);
  const age = parts.map(() => oldest);
  return {
    last,
    age,
    add(tokens) {
      for (const [voice, token] of tokens.entries()) {
        age[voice] = token === held ? Math.min((age[voice] ?? 0) + 1, oldest) : 1;
        if (token !== held) last[voice] = token;
      }
    },
  };
}

interface HistoryParts {
  readonly settings: ScoreSettings;
  readonly plan: Plan;
  readonly written: readonly Writing[];
  readonly sounding: Sounding;
}

/** Rows: what the bar repeats, a bar and four bars ago, what sounds and since when, two bars ago, steps ago. */
function historyOf({ settings, plan, written, sounding }: HistoryParts): (readonly number[])[] {
  const { stepsPerBar } = plan;
  const nothing = settings.parts.map(() => settings.tokens.noStep);
  const ago = (steps: number) => written[written.length - steps]?.tokens ?? nothing;
  const bar = plan.bars[Math.floor(written.length / stepsPerBar)];
  const repeat = settings.repeats[bar?.[REPEAT] ?? 0] ?? 0;
  return [
    repeat > 0 ? ago(repeat * stepsPerBar) : nothing,
    ago(stepsPerBar),
    ago(4 * stepsPerBar),
    [...sounding.last],
    [...sounding.age],
    ago(2 * stepsPerBar),
    ...settings.stepLags.map(ago),
  ];
}

/** Chords around the step, where it stands, and what the piece is. */
function contextOf(settings: ScoreSettings, plan: Plan, at: number): number[] {
  const { bars, stepsPerBar, intent, players } = plan;
  const number = Math.floor(at / stepsPerBar);
  const step = at % stepsPerBar;
  const bar: BarPlan = bars[number] ?? [];
  const { noChord } = settings.tokens;
  const chord = (of: BarPlan | undefined, field: number) => of?.[field] ?? noChord;
  const isLate = step >= SECOND_CHORD_STEP;
  const following = chord(bars[number + 1], FIRST_CHORD);
  return [
    chord(bar, isLate ? SECOND_CHORD : FIRST_CHORD),
    isLate ? following : chord(bar, SECOND_CHORD),
    following,
    chord(bars[number - 1], SECOND_CHORD),
    bar[SECTION] ?? 0,
    bar[REPEAT] ?? 0,
    step,
    number % BAR_CYCLE,
    Math.min(bars.length - 1 - number, MOST_BARS_LEFT),
    sectionAge(bars, number),
    bar.at(-1) ?? 0,
    ...natureOf(intent, settings),
    ...players,
    ...tracksOf(bar),
  ];
}
