import { JobError } from "../../core/errors.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64, int64Of, type Tensors } from "../../runtime/tensors/tensor.js";
import { hashNgrams } from "../tokenizer/hashed-ngrams.js";
import type { DrawSettings, ScoreSettings } from "./settings.js";

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
  readonly sessions: Graphs;
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

/** What a network that writes some tokens at once reads. */
interface Reading {
  /** Earlier writings [rows, voices]; absent where it reads none. */
  readonly history?: readonly (readonly number[])[];
  readonly context: readonly number[];
}

export interface Writing {
  /** One of each voice. */
  readonly tokens: readonly number[];
  /** Numbers in 0..1 that come along; empty where there are none. */
  readonly extras: readonly number[];
}

/** Draws the next tokens of a network. Throws `invalid_output` where they are not what they should be. */
export async function choose(
  sessions: Graphs,
  role: string,
  { reading, voices, draw, chance }: ChooseOptions,
): Promise<Writing> {
  const { history, context } = reading;
  const rows = history?.length ?? 0;
  const outputs = await sessions.run(role, {
    ...(history && { history: int64Of(history.flat(), [1, rows, voices]) }),
    context: int64Of(context, [1, context.length]),
    chances: float32(Float32Array.from({ length: voices }, chance), [1, voices]),
    temperature: float32(Float32Array.of(draw.temperature), [1]),
    least: float32(Float32Array.of(draw.least), [1]),
  });
  const written = outputs["tokens"]?.data;
  if (!(written instanceof BigInt64Array) || written.length !== voices)
    throw new JobError("invalid_output", `the ${role} must write ${voices} tokens`);
  const extras = outputs["extras"] === undefined ? [] : [...floatsOf(outputs, "extras")];
  if (!extras.every(Number.isFinite))
    throw new JobError("invalid_output", `the ${role} wrote loudnesses that are not numbers`);
  return { tokens: Array.from(written, Number), extras };
}

interface ChooseOptions {
  readonly reading: Reading;
  readonly voices: number;
  readonly draw: DrawSettings;
  readonly chance: Chance;
}

/** What a prompt asks for; what it leaves open is drawn. Classes are numbers of the package. */
interface Intent {
  readonly bpm: number;
  /** Semitones of the key's tonic above C, 0 to 11. */
  readonly tonic: number;
  readonly mode: number;
  readonly genre: number;
  readonly meter: number;
  readonly energy: number;
  /** Of each instrument: 0 open, 1 wanted, 2 unwanted. */
  readonly wishes: readonly number[];
}

/** Uniform numbers in [0, 1). */
type Chance = () => number;

const WISHES = 3;
const SIGNS: Readonly<Record<string, string>> = { "#": " sharp ", "♯": " sharp ", "♭": " flat " };

/** The prompt as it is read: signs of keys as words, numbers digit by digit. */
export function spellPrompt(prompt: string): string {
  return prompt
    .replaceAll(/[#♯♭]/gu, (sign) => SIGNS[sign] ?? sign)
    .replaceAll(/[0-9]/g, (digit) => ` ${digit} `);
}

/** Reads a prompt; draws what it leaves open. Throws `invalid_output` where logits are not numbers. */
export async function readPrompt(
  sessions: Graphs,
  settings: ScoreSettings,
  { prompt, chance }: { readonly prompt: string; readonly chance: Chance },
): Promise<Intent> {
  const { words, idsPerWord } = settings.tokenizer;
  const ids = hashNgrams(spellPrompt(prompt), settings.tokenizer);
  const outputs = await sessions.run("prompt-reader", {
    input_ids: int64(ids, [1, words, idsPerWord]),
  });
  const draw = (name: string) => {
    const shares = softmax(logitsOf(outputs, name), settings.sampler.promptTemperature);
    return { shares, drawn: drawClass(shares, chance()) };
  };
  const tempo = draw("tempo");
  const { lowestBpm, binLog } = settings.tempo;
  return {
    bpm: lowestBpm * Math.exp(binLog * centreNear(tempo.shares, tempo.drawn)),
    tonic: draw("tonic").drawn,
    mode: draw("mode").drawn,
    genre: draw("genre").drawn,
    meter: draw("meter").drawn,
    energy: draw("energy").drawn,
    wishes: largestOfEach(logitsOf(outputs, "wishes"), WISHES),
  };
}

function logitsOf(outputs: Tensors, name: string): Float32Array {
  const logits = floatsOf(outputs, name);
  if (logits.every(Number.isFinite)) return logits;
  throw new JobError("invalid_output", `the prompt reader's ${name} are not numbers`);
}

function softmax(logits: Float32Array, temperature: number): number[] {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function drawClass(shares: readonly number[], chance: number): number {
  let reached = 0;
  for (const [index, share] of shares.entries()) {
    reached += share;
    if (chance < reached) return index;
  }
  return shares.length - 1;
}

/** Bins on either side that belong to the hill around a drawn one. */
const HILL_BINS = 3;

/** The hill's centre, in bins with a fraction: finer than the bins are. */
function centreNear(shares: readonly number[], drawn: number): number {
  let [weight, moment] = [0, 0];
  for (let bin = drawn - HILL_BINS; bin <= drawn + HILL_BINS; bin += 1) {
    weight += shares[bin] ?? 0;
    moment += bin * (shares[bin] ?? 0);
  }
  return moment / weight;
}

function largestOfEach(values: Float32Array, size: number): number[] {
  return Array.from({ length: values.length / size }, (_, row) => {
    const own = values.subarray(row * size, (row + 1) * size);
    return own.indexOf(Math.max(...own));
  });
}
