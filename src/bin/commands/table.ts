/** Rows as aligned columns under headings; the columns are the first row's keys. */
export function printTable(rows: readonly Readonly<Record<string, string | number>>[]): void {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first);
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "")))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, at) => cell.padEnd(widths[at] ?? 0));
    process.stdout.write(`${cells.join("  ").trimEnd()}\n`);
  }
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
