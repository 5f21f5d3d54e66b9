import type { BenchResult, BenchRow } from "./measure.js";

/** Two runs of the same thing may be this far apart before a ratio says little. */
export const MOST_NOISE = 0.05;

/** How a suite ended: with a result, or with the sentence of what it threw. */
export interface SuiteEnd {
  readonly suite: string;
  readonly result?: BenchResult;
  readonly failure?: string;
}

/** One line of the closing table. */
export type ClosingLine = Readonly<
  Record<"suite" | "target" | "measured" | "limit" | "verdict", string>
>;

/** `meets` or `misses`, with the A/A noise beside it where that is large; empty without a target. */
export function verdictOf(row: BenchRow): string {
  if (row.target === null) return "";
  const meets = row.better === "higher" ? row.ratio >= row.target : row.ratio <= row.target;
  const noisy = row.noise !== null && row.noise > MOST_NOISE;
  return `${meets ? "meets" : "misses"}${noisy ? ` (A/A ${percent(row.noise)})` : ""}`;
}

export function limitOf({ target, better }: Pick<BenchRow, "target" | "better">): string {
  if (target === null) return "";
  return `${better === "higher" ? "≥" : "≤"} ${target}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** Every target of every suite with its verdict, and what failed or could not be measured. */
export function closingTable(ends: readonly SuiteEnd[]): ClosingLine[] {
  return ends.flatMap(({ suite, result, failure = "it gave nothing" }) => {
    const unknown = (target: string, verdict: string) => ({
      suite,
      target,
      measured: "",
      limit: "",
      verdict,
    });
    if (result === undefined) return [unknown("the whole suite", `failed: ${failure}`)];
    const { rows, unmeasured = [] } = result;
    return [
      ...rows.filter(({ target }) => target !== null).map((row) => lineOf(suite, row)),
      ...unmeasured.map(({ what, why }) => unknown(what, `not measured: ${why}`)),
    ];
  });
}

function lineOf(suite: string, row: BenchRow): ClosingLine {
  return {
    suite,
    target: row.what,
    measured: row.ratio.toFixed(3),
    limit: limitOf(row),
    verdict: verdictOf(row),
  };
}
