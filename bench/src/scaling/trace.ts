import { z } from "zod";
import { randomStream } from "../../../src/models/sampling/noise.js";
import { poissonArrivals } from "../suites/drive.js";

/** A job of a trace. */
export interface Arrival {
  /** From the start of the trace. */
  readonly atSeconds: number;
  readonly modality: string;
  readonly model: string;
  /** Row of the price table within the modality; jobs of one tier take the same time a unit. */
  readonly tier: string;
  /** Size in the job's own unit, which is what the front predicts from. */
  readonly work: number;
  /** What one worker really needs for it. */
  readonly seconds: number;
}

const text = z.string().min(1);
const positive = z.coerce.number().positive();
const row = z.object({
  time_s: z.coerce.number().nonnegative(),
  modality: text.default("video"),
  model: text.default("any"),
  tier: z.string().default(""),
  work: positive.optional(),
  seconds: positive,
});

/**
 * Reads CSV with a heading, or one JSON object a line: `time_s` and `seconds` (compute-seconds), and
 * where known `modality`, `model`, `tier`, `work`. Without `work` all jobs of a kind are predicted
 * alike. Sorted by time. Throws a sentence that names the line.
 */
export function parseTrace(content: string): Arrival[] {
  const lines = content.split(/\r?\n/).map((line, index) => ({ line, number: index + 1 }));
  const filled = lines.filter(({ line }) => line.trim() !== "" && !line.startsWith("#"));
  const rows = filled[0]?.line.trimStart().startsWith("{")
    ? readJsonLines(filled)
    : readCsv(filled);
  if (rows.length === 0) throw new Error("the trace holds no job");
  return rows.map(toArrival).toSorted((a, b) => a.atSeconds - b.atSeconds);
}

interface Line {
  readonly line: string;
  readonly number: number;
}

interface Row {
  readonly fields: unknown;
  readonly number: number;
}

function readJsonLines(lines: readonly Line[]): Row[] {
  return lines.map(({ line, number }) => {
    try {
      return { fields: JSON.parse(line), number };
    } catch {
      throw new Error(`line ${number} of the trace is no JSON: ${line.slice(0, 60)}`);
    }
  });
}

/** Plain columns: names and numbers, which need no quotes. */
function readCsv([heading, ...lines]: readonly Line[]): Row[] {
  const names = heading?.line.split(",").map((name) => name.trim()) ?? [];
  return lines.map(({ line, number }) => {
    const cells = line.split(",").map((cell) => cell.trim());
    const fields = names.map((name, at) => [name, cells[at]]);
    return { fields: Object.fromEntries(fields.filter(([, cell]) => cell !== "")), number };
  });
}

function toArrival({ fields, number }: Row): Arrival {
  const parsed = row.safeParse(fields);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`line ${number} of the trace: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { time_s: atSeconds, work = 1, ...rest } = parsed.data;
  return { atSeconds, work, ...rest };
}

/** Jobs of one tier. */
export interface MixPart {
  readonly tier: string;
  /** Of all jobs, relative to the other parts. */
  readonly share: number;
  /** Compute-seconds for a second of clip. */
  readonly secondsPerUnit: number;
}

export interface TraceOptions {
  readonly shape: "poisson" | "daily" | "burst";
  /** Jobs an hour, on average. */
  readonly perHour: number;
  readonly hours: number;
  readonly mix: readonly MixPart[];
  /** Standard deviation of the logarithm of a job's time around its kind's. */
  readonly spread: number;
  readonly seed: number;
}

/** The busiest hour of a day has nine times the jobs of the quietest: 1 ± 0.8. */
const DAILY_SWING = 0.8;
const DAY_SECONDS = 86_400;
/** Ten minutes out of every two hours bring ten times as much as the others. */
const BURST_EVERY_SECONDS = 7_200;
const BURST_SECONDS = 600;
const BURST_FACTOR = 10;
const SHORTEST_CLIP = 4;
const CLIP_LENGTHS = 7;

/** Clips of 4 to 10 s that arrive by a Poisson process, whose rate may change. The same for the same seed. */
export function generateTrace(options: TraceOptions): Arrival[] {
  const { perHour, hours, seed } = options;
  const peak = perHour * peakOf(options);
  // Enough for the peak to last all the time, with six standard deviations to spare.
  const expected = peak * hours;
  const most = Math.ceil(expected + 6 * Math.sqrt(expected) + 10);
  const thinned = randomStream(seed, 1);
  return poissonArrivals(peak / 3_600, most, seed)
    .map((atMs) => atMs / 1_000)
    .filter((atSeconds, index) => {
      const isWithin = atSeconds < hours * 3_600;
      return isWithin && thinned.at(index) * peakOf(options) < rateAt(options, atSeconds);
    })
    .map((atSeconds, index) => drawJob(options, atSeconds, index));
}

/** Rate over the average one. */
function rateAt({ shape }: TraceOptions, atSeconds: number): number {
  if (shape === "poisson") return 1;
  if (shape === "daily") return 1 - DAILY_SWING * Math.cos((2 * Math.PI * atSeconds) / DAY_SECONDS);
  const isBurst = atSeconds % BURST_EVERY_SECONDS >= BURST_EVERY_SECONDS - BURST_SECONDS;
  return (isBurst ? BURST_FACTOR : 1) / meanOfBursts();
}

function peakOf({ shape }: TraceOptions): number {
  if (shape === "poisson") return 1;
  return shape === "daily" ? 1 + DAILY_SWING : BURST_FACTOR / meanOfBursts();
}

function meanOfBursts(): number {
  return 1 + ((BURST_FACTOR - 1) * BURST_SECONDS) / BURST_EVERY_SECONDS;
}

function drawJob({ mix, spread, seed }: TraceOptions, atSeconds: number, index: number): Arrival {
  const random = randomStream(seed, 2);
  const draw = (nth: number) => random.at(index * 4 + nth);
  const { tier, secondsPerUnit } = pick(mix, draw(0));
  const work = SHORTEST_CLIP + Math.floor(draw(1) * CLIP_LENGTHS);
  // Box and Muller (1958).
  const normal = Math.sqrt(-2 * Math.log(1 - draw(2))) * Math.cos(2 * Math.PI * draw(3));
  const seconds = work * secondsPerUnit * Math.exp(spread * normal);
  return { atSeconds, modality: "video", model: "any", tier, work, seconds };
}

function pick(mix: readonly MixPart[], drawn: number): MixPart {
  const [first] = mix;
  if (first === undefined) throw new Error("the mix of jobs is empty");
  let rest = drawn * mix.reduce((sum, { share }) => sum + share, 0);
  return mix.find(({ share }) => (rest -= share) < 0) ?? first;
}
