import { coveredMs, msByRole } from "./graph-runs.js";
import { type BenchRow, compare, type Distribution, distribute, type RowSpec } from "./measure.js";
import type { MadeRun } from "./pipeline-subject.js";

/** What an hour of the machine that measures costs, where nobody says: two cores of a cloud's list. */
export const DOLLARS_PER_HOUR = 0.1;

/** What a pipeline does outside of its graphs. */
export interface StageNames {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/** How the whole time of requests of one kind divides, in milliseconds. */
export function stageTimes(
  kind: string,
  names: StageNames,
  made: readonly MadeRun[],
): Distribution[] {
  const stages = new Map<string, number[]>();
  for (const run of made)
    for (const [stage, ms] of stagesOf(run, names))
      stages.set(stage, [...(stages.get(stage) ?? []), ms]);
  return [...stages].map(([stage, values]) =>
    distribute({ what: `${kind}: ${stage}`, unit: "ms" }, values),
  );
}

/** Before the first graph, each graph, between graphs, after the last one, all. */
function stagesOf(run: MadeRun, names: StageNames): [string, number][] {
  const { runs, startedAtMs, endedAtMs } = run;
  const first = Math.min(...runs.map((it) => it.startedAtMs));
  const last = Math.max(...runs.map((it) => it.endedAtMs));
  return [
    [names.before, first - startedAtMs],
    ...msByRole(runs),
    [names.between, last - first - coveredMs(runs)],
    [names.after, endedAtMs - last],
    ["end to end", wallMs(run)],
  ];
}

export function wallMs({ startedAtMs, endedAtMs }: MadeRun): number {
  return endedAtMs - startedAtMs;
}

/** From the last graph's end: encoding what it made. */
export function tailMs({ runs, endedAtMs }: MadeRun): number {
  return endedAtMs - Math.max(...runs.map((it) => it.endedAtMs));
}

/** A row of one pair for each request. */
export function rowOf(
  what: string,
  unit: string,
  made: readonly MadeRun[],
  pair: (run: MadeRun) => readonly [ours: number, against: number],
): BenchRow {
  const spec: RowSpec = { what, unit, target: null };
  const pairs = made.map(pair).map(([ours, against]) => ({ ours, against }));
  return compare(spec, pairs);
}

/** Dollars of the machine's time for a unit of what is sold beside what a caller pays for it. */
export function costRow(
  what: string,
  made: readonly MadeRun[],
  { dollarsPerHour, unitsOf }: { dollarsPerHour: number; unitsOf: (run: MadeRun) => number },
): BenchRow {
  return rowOf(what, "$", made, (run) => [
    ((wallMs(run) / 3_600_000) * dollarsPerHour) / unitsOf(run),
    run.priceUsd / unitsOf(run),
  ]);
}
