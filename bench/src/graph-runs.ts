import type { GraphRun } from "../../src/core/modality.js";

/** Length of the union of the runs: two at the same time count once. */
export function coveredMs(runs: readonly Pick<GraphRun, "startedAtMs" | "endedAtMs">[]): number {
  let covered = 0;
  let until = 0;
  for (const run of runs.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    covered += Math.max(0, run.endedAtMs - Math.max(run.startedAtMs, until));
    until = Math.max(until, run.endedAtMs);
  }
  return covered;
}

/** Milliseconds of each role's runs, in the order of their first ones. */
export function msByRole(runs: readonly GraphRun[]): Map<string, number> {
  const roles = new Set(runs.map(({ role }) => role));
  return new Map(
    [...roles].map((role) => [role, coveredMs(runs.filter((run) => run.role === role))]),
  );
}
