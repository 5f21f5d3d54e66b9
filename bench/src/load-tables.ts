import type { End, Drive } from "./drive.js";
import {
  type BenchRow,
  type Distribution,
  distribute,
  round,
  type Series,
  type TableRow,
  type Unmeasured,
} from "./measure.js";

/** One rate or number of clients, measured. */
export interface Level extends Drive {
  readonly name: string;
  /** Requests a second; null of a closed loop. */
  readonly offered: number | null;
  readonly waitsMs: readonly number[];
}

interface Objective {
  readonly name: string;
  readonly objectiveSeconds: number;
}

/** Throughput, and goodput: what ended well within the objective. */
export function rowsOf({ objectiveSeconds }: Objective, level: Level): BenchRow[] {
  const { name, outcomes, seconds } = level;
  const row = (what: string, ours: number) => ({
    what: `${name}: ${what}`,
    ours: round(ours / seconds),
    against: round(outcomes.length / seconds),
    unit: "1/s",
    ratio: round(ours / outcomes.length),
    target: null,
    noise: null,
  });
  return [
    row("answered / sent", countOf(level, "answered")),
    row(`goodput within ${objectiveSeconds} s / sent`, goodOf(level, objectiveSeconds)),
  ];
}

/** What became of every request of a level. */
export function countsOf({ objectiveSeconds }: Objective, level: Level): TableRow {
  return {
    requests: level.name,
    sent: level.outcomes.length,
    answered: countOf(level, "answered"),
    "within the objective": goodOf(level, objectiveSeconds),
    refused: countOf(level, "refused"),
    failed: countOf(level, "failed"),
    "not ended": countOf(level, "unended"),
  };
}

/** Why requests failed, by the first of a level that did. */
export function troublesOf(level: Level): Unmeasured[] {
  const first = level.outcomes.find(({ end }) => end === "failed");
  if (first === undefined) return [];
  const what = `${level.name}: ${countOf(level, "failed")} of ${level.outcomes.length}`;
  return [{ what, why: `failed: ${first.reason ?? "no reason given"}` }];
}

export function distributionsOf(level: Level): Distribution[] {
  const { name, waitsMs } = level;
  return [
    distribute({ what: `${name}: queued until started`, unit: "ms" }, waitsMs),
    distribute({ what: `${name}: end to end`, unit: "ms" }, latencies(level)),
  ].filter(({ count }) => count > 0);
}

/** Latency and goodput over the offered rate. */
export function seriesOf(
  { name, objectiveSeconds }: Objective,
  levels: readonly Level[],
): Series[] {
  const open = levels.flatMap((level) => {
    if (level.offered === null || latencies(level).length === 0) return [];
    const { p50, p99 } = distribute({ what: "", unit: "ms" }, latencies(level));
    const share = goodOf(level, objectiveSeconds) / level.outcomes.length;
    return [{ offered: level.offered, p50, p99, share }];
  });
  const xLabel = `${name} offered, 1/s`;
  const line = (label: string, yLabel: string, pick: (level: (typeof open)[number]) => number) => ({
    name: label,
    xLabel,
    yLabel,
    points: open.map((level) => [level.offered, pick(level)] as const),
  });
  const latency = `${name} from due to done, ms`;
  return [
    line("p50", latency, ({ p50 }) => p50),
    line("p99", latency, ({ p99 }) => p99),
    line(`within ${objectiveSeconds} s`, "share of what was sent", ({ share }) => share),
  ];
}

/** Requests that ended in this way. */
export function countOf({ outcomes }: Drive, end: End): number {
  return outcomes.filter((outcome) => outcome.end === end).length;
}

function goodOf({ outcomes }: Drive, objectiveSeconds: number): number {
  return outcomes.filter(
    ({ end, latencyMs }) => end === "answered" && latencyMs <= objectiveSeconds * 1_000,
  ).length;
}

/** What was given up counts with the time it had waited: without it the slowest would be left out. */
function latencies({ outcomes }: Drive): number[] {
  return outcomes
    .filter(({ end }) => end === "answered" || end === "unended")
    .map(({ latencyMs }) => latencyMs);
}
