import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { BenchResult, BenchRow, Distribution, TableRow } from "./measure.js";

/** Two runs of the same thing may be this far apart before a ratio says little. */
const MOST_NOISE = 0.05;

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

/** `meets` or `misses`, with the A/A noise beside it where that is large; empty without a target. @public tests ask, too */
export function verdictOf(row: BenchRow): string {
  if (row.target === null) return "";
  const meets = row.better === "higher" ? row.ratio >= row.target : row.ratio <= row.target;
  const noise = Math.max(row.noise ?? 0, row.againstNoise ?? 0);
  return `${meets ? "meets" : "misses"}${noise > MOST_NOISE ? ` (A/A ${percent(noise)})` : ""}`;
}

function limitOf({ target, better }: Pick<BenchRow, "target" | "better">): string {
  if (target === null) return "";
  return `${better === "higher" ? "≥" : "≤"} ${target}`;
}

function percent(share: number): string {
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

const earlier = z.object({
  suite: z.string(),
  rows: z.array(
    z.object({
      what: z.string(),
      ours: z.number(),
      noise: z
        .number()
        .nullish()
        .transform((noise) => noise ?? null),
    }),
  ),
});

export type EarlierRow = z.infer<typeof earlier>["rows"][number];

/** Rows of an earlier run of a suite: of a file, or of `<suite>.json` in a folder. Empty where it has none. */
export async function readEarlier(path: string, suite: string): Promise<readonly EarlierRow[]> {
  const file = (await stat(path)).isDirectory() ? join(path, `${suite}.json`) : path;
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return [];
  const parsed = earlier.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${file} is not what bench writes`);
  return parsed.data.suite === suite ? parsed.data.rows : [];
}

/** Now over then, or the reason why there is no such ratio. */
export function changeOf(row: BenchRow, before: readonly EarlierRow[]): string {
  const then = before.find(({ what }) => what === row.what);
  if (then === undefined) return "";
  const noise = [row.noise, then.noise];
  const worst = Math.max(...noise.map((share) => share ?? Infinity));
  if (worst === Infinity) return "too few rounds";
  if (worst > MOST_NOISE) return `noisy, ${percent(worst)}`;
  return (row.ours / then.ours).toFixed(3);
}

/** Ratio rows as a table shows them. */
export function rowCells(row: BenchRow): TableRow {
  return {
    what: row.what,
    ours: row.ours,
    against: row.against,
    unit: row.unit,
    ratio: row.ratio.toFixed(3),
    "should be": limitOf(row),
    verdict: verdictOf(row),
    "A/A": [row.noise, row.againstNoise || null]
      .flatMap((share) => (share === null ? [] : percent(share)))
      .join(", "),
  };
}

export function distributionCells(it: Distribution): TableRow {
  return { what: it.what, unit: it.unit, p50: it.p50, p90: it.p90, p99: it.p99, count: it.count };
}

export function factsOf({ conditions }: BenchResult): string {
  return Object.entries(conditions)
    .map(([name, value]) => `${name} ${value}`)
    .join(" · ");
}

/** All of a run as Markdown: every target with its verdict, then each suite's tables and plot. */
export function toMarkdown(ends: readonly SuiteEnd[]): string {
  const suites = ends.flatMap(({ result }) => (result === undefined ? [] : suiteSection(result)));
  return `${[...markdownTable(closingTable(ends)), ...suites].join("\n").trim()}\n`;
}

function suiteSection(result: BenchResult): string[] {
  const { suite, rows, counts = [], distributions = [], series = [] } = result;
  return [
    `## ${suite}`,
    "",
    `${factsOf(result)}.`,
    "",
    ...markdownTable(rows.map(rowCells)),
    ...markdownTable(counts),
    ...markdownTable(distributions.map(distributionCells)),
    ...(series.length > 0 ? [`![${suite}](${suite}.svg)`, ""] : []),
  ];
}

function markdownTable(rows: readonly TableRow[]): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const columns = Object.keys(first);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const escaped = (cell: string | number | undefined) =>
    String(cell ?? "")
      .replaceAll(/\s+/g, " ")
      .replaceAll("|", "\\|");
  return [
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((column) => escaped(row[column])))),
    "",
  ];
}
