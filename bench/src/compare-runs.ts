import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { BenchRow } from "./measure.js";
import { MOST_NOISE, percent } from "./verdict.js";

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
