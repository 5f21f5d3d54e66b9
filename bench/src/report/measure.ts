import { readFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";

/** One suite's result: what was compared, under which conditions. */
export interface BenchResult {
  readonly suite: string;
  readonly conditions: Readonly<Record<string, string | number>>;
  readonly rows: readonly BenchRow[];
  /** What became of what was sent, where something was. */
  readonly counts?: readonly TableRow[];
  /** How single measurements are spread: stages, waits, latencies. */
  readonly distributions?: readonly Distribution[];
  /** What the suite's plot shows. */
  readonly series?: readonly Series[];
  /** What could not be measured here. */
  readonly unmeasured?: readonly Unmeasured[];
}

/** Cells by heading; all rows of a table have the same headings. */
export type TableRow = Readonly<Record<string, string | number>>;

export interface Unmeasured {
  readonly what: string;
  /** E.g. `needs a chat model that transformers.js opens`. */
  readonly why: string;
}

export interface Distribution {
  readonly what: string;
  readonly unit: string;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  /** Measurements. */
  readonly count: number;
}

/** One line of a plot: points [x, y]. Lines of one plot share both labels. */
export interface Series {
  readonly name: string;
  /** With the unit. */
  readonly xLabel: string;
  readonly yLabel: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface BenchRow {
  readonly what: string;
  /** Medians over the rounds. */
  readonly ours: number;
  readonly against: number;
  readonly unit: string;
  /** Median of the rounds' own ratios, ours / against. */
  readonly ratio: number;
  /** What the ratio should not exceed, or, where higher is better, reach. */
  readonly target: number | null;
  /** Lower where absent. */
  readonly better?: "lower" | "higher";
  /** A/A: how far our every other round is from the rest, as a share; null of fewer than four rounds. */
  readonly noise: number | null;
  /** The same of what it is held against, where that was measured, too. */
  readonly againstNoise?: number | null;
}

/** A figure of ours and what it is held against, of one round. */
export interface Pair {
  readonly ours: number;
  readonly against: number;
}

export interface RowSpec {
  readonly what: string;
  readonly unit: string;
  readonly target: number | null;
  /** Lower where absent. */
  readonly better?: "lower" | "higher";
}

/** Medians and the median of the ratios. */
export function compare({ what, unit, target, better }: RowSpec, pairs: readonly Pair[]): BenchRow {
  return {
    what,
    ours: round(median(pairs.map(({ ours }) => ours))),
    against: round(median(pairs.map(({ against }) => against))),
    unit,
    ratio: round(median(pairs.map(({ ours, against }) => ours / against))),
    target,
    ...(better && { better }),
    noise: noiseOf(pairs.map(({ ours }) => ours)),
    againstNoise: noiseOf(pairs.map(({ against }) => against)),
  };
}

const FEWEST_ROUNDS = 4;

/** One minus the ratio of the medians of even and odd rounds, the smaller above; null of too few. */
export function noiseOf(values: readonly number[]): number | null {
  if (values.length < FEWEST_ROUNDS) return null;
  const halves = [0, 1].map((odd) => median(values.filter((_, index) => index % 2 === odd)));
  return round(1 - Math.min(...halves) / Math.max(...halves));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(middle) - 1],
    sorted[Math.floor(middle)],
  ];
  return (low + high) / 2;
}

/** Percentiles by nearest rank. */
export function distribute(
  { what, unit }: Pick<RowSpec, "what" | "unit">,
  values: readonly number[],
): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN);
  return { what, unit, p50: at(0.5), p90: at(0.9), p99: at(0.99), count: sorted.length };
}

/** Seconds of a run. */
export async function timed<T>(run: () => Promise<T>): Promise<{ seconds: number; value: T }> {
  const startedAt = performance.now();
  const value = await run();
  return { seconds: (performance.now() - startedAt) / 1_000, value };
}

/** CPU-seconds that this process and the children it waited for spend on a run (Linux). */
export async function cpuSeconds(run: () => Promise<unknown>): Promise<number> {
  const before = await spentSeconds();
  await run();
  return (await spentSeconds()) - before;
}

const TICKS_PER_SECOND = 100;

/** proc(5): fields 14 to 17 of /proc/self/stat are utime, stime, cutime and cstime in ticks. */
async function spentSeconds(): Promise<number> {
  const stat = await readFile("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / TICKS_PER_SECOND;
}

export function machine(): Readonly<Record<string, string | number>> {
  const [first] = cpus();
  return {
    node: process.version,
    cores: cpus().length,
    cpu: first?.model.trim() ?? "unknown",
    platform: `${process.platform}-${process.arch}`,
    "load average": round(loadavg()[0] ?? 0),
  };
}

/** To the four digits that tables show. */
export function round(value: number): number {
  return Number(value.toPrecision(4));
}

/**
 * Slope of a line through points [x, y] by Theil and Sen: the median of the slopes of all pairs, which
 * single outliers do not move. NaN of fewer than two x.
 */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const slopes = points.flatMap(([x, y], index) =>
    points.slice(index + 1).flatMap(([laterX, laterY]) => {
      return laterX === x ? [] : [(laterY - y) / (laterX - x)];
    }),
  );
  return median(slopes);
}
