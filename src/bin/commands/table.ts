import { styleText } from "node:util";

/** Rows as aligned columns under headings; the columns are the first row's keys. */
export function printTable(
  rows: readonly Readonly<Record<string, string | number>>[],
  none = "",
): void {
  if (rows.length === 0 && none !== "") process.stderr.write(`${none}\n`);
  else process.stdout.write(renderTable(rows));
}

/** As `printTable`; empty without rows. Headings are dim where the terminal has colours and NO_COLOR is unset. */
export function renderTable(rows: readonly Readonly<Record<string, string | number>>[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const columns = Object.keys(first);
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "")))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const [heading = "", ...body] = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${[dim(heading), ...body].join("\n")}\n`;
}

/** Lines of at most so many characters, broken between words; a longer word stands alone. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Node asks NO_COLOR and FORCE_COLOR itself. */
function dim(text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? styleText("dim", text) : text;
}

export function formatUsd(microUsd: number): string {
  return formatNanoUsd(Math.round(microUsd * 1_000));
}

/** Dollars of nano-dollars: six decimals, and more where there are any. */
export function formatNanoUsd(nanoUsd: number): string {
  return `${nanoUsd < 0 ? "-" : ""}$${(Math.abs(nanoUsd) / 1e9).toFixed(9).replace(/0{1,3}$/, "")}`;
}
