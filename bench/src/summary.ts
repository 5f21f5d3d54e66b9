import type { BenchResult, BenchRow, Distribution, TableRow } from "./measure.js";
import { closingTable, limitOf, percent, type SuiteEnd, verdictOf } from "./verdict.js";

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
    "A/A": row.noise === null ? "" : percent(row.noise),
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
