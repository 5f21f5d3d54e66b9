import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { changeOf, type EarlierRow, readEarlier } from "../../bench/compare-runs.js";
import type { BenchResult } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { SUITES } from "./bench-suites.js";
import { printTable } from "./table.js";

export interface BenchOptions {
  /** Folder for one JSON file a suite. */
  readonly out: string;
  readonly rounds: number;
  /** JSON of an earlier run, or a folder of such. */
  readonly compare?: string;
}

/** Suites that need no models but the repository's. */
const OWN_MODELS: readonly string[] = ["media", "video", "queue", "cold"];

/** Runs suites one after the other; prints conditions and ratios, writes JSON. */
export async function bench(
  names: readonly string[],
  { out, rounds, compare }: BenchOptions,
  config: Config,
): Promise<void> {
  const chosen = names.length === 0 ? OWN_MODELS : names;
  const unknown = chosen.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    throw new Error(`there is no suite ${unknown}: give some of ${Object.keys(SUITES).join(", ")}`);
  }
  await mkdir(out, { recursive: true });
  for (const name of chosen) {
    const result = await SUITES[name]?.(config, rounds);
    if (result === undefined) continue;
    print(result, compare === undefined ? [] : await readEarlier(compare, name));
    await writeFile(join(out, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  }
}

function print({ suite, conditions, rows }: BenchResult, before: readonly EarlierRow[]): void {
  const facts = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`\n${suite} (${facts.join(" · ")})\n`);
  printTable(
    rows.map((row) => ({
      what: row.what,
      ours: row.ours,
      against: row.against,
      unit: row.unit,
      ratio: row.ratio.toFixed(3),
      target: row.target ?? "",
      noise: row.noise === null ? "" : `${(row.noise * 100).toFixed(0)} %`,
      ...(before.length > 0 && { "now / then": changeOf(row, before) }),
    })),
  );
}
