import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseSettings } from "../../../src/runtime/packages/parse-settings.js";
import type { Measures } from "./evaluator.js";

const metric = z.object({
  /** What its card states: measured through the real pipeline. */
  card: z.number(),
  /** The bar that it was made for; absent where there is none. */
  target: z.number().optional(),
  better: z.enum(["higher", "lower"]),
  /** How much worse than the card a measurement may be: machines and encoders differ. */
  slack: z.number().nonnegative(),
  /** A package whose weights are noise is at least this bad. */
  noise: z.number().optional(),
  /** What is measured, on what. */
  about: z.string(),
});

const card = z.object({ metrics: z.record(z.string(), metric) });

export type Metric = z.infer<typeof metric>;
export type EvaluationCard = z.infer<typeof card>;

/** Folder of a package that holds its held-out cases, and the file that states what they came to. */
export const EVALUATION_FOLDER = "evaluation";
const CARD_FILE = "evaluation.json";

/** Reads `evaluation/evaluation.json` of a package; undefined where it has none. */
export async function readEvaluationCard(modelPath: string): Promise<EvaluationCard | undefined> {
  const path = join(modelPath, EVALUATION_FOLDER, CARD_FILE);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  return parseSettings(card, JSON.parse(text), path);
}

/** One line of the table. */
export interface Finding {
  readonly name: string;
  readonly stated: Metric;
  readonly measured: number;
  /** No worse than the card, but for the slack. */
  readonly holds: boolean;
  /** Meets its bar; undefined where there is none. */
  readonly meets: boolean | undefined;
  /** How much it misses its bar by; 0 where it meets it, undefined where there is none. */
  readonly missedBy: number | undefined;
}

/** What was measured beside what is stated. Throws where a stated number was not measured. */
export function compareWithCard({ metrics }: EvaluationCard, measures: Measures): Finding[] {
  return Object.entries(metrics).map(([name, stated]) => {
    const measured = measures[name];
    if (measured === undefined) throw new Error(`${name} is stated but was not measured`);
    const { better, card: known, slack, target } = stated;
    const holds = isAtLeast(measured, better === "higher" ? known - slack : known + slack, better);
    const meets = target === undefined ? undefined : isAtLeast(measured, target, better);
    const missedBy = target === undefined ? undefined : meets ? 0 : Math.abs(measured - target);
    return { name, stated, measured, holds, meets, missedBy };
  });
}

/** Whether a measurement is as good as a bound; a NaN never is. @public deep tests ask, too */
export function isAtLeast(measured: number, bound: number, better: Metric["better"]): boolean {
  return better === "higher" ? measured >= bound : measured <= bound;
}
