import { openProgress } from "../../../src/bin/commands/progress.js";
import { printJson, printTable } from "../../../src/bin/commands/table.js";
import { runnerParts } from "../../../src/bin/package-runner.js";
import { untilInterrupted } from "../../../src/bin/shutdown.js";
import type { Config } from "../../../src/config.js";
import {
  listModelPackages,
  type ModelPackage,
} from "../../../src/runtime/packages/model-package.js";
import { round } from "../report/measure.js";
import { evaluatePackage } from "./evaluate-package.js";
import {
  compareWithCard,
  EVALUATION_FOLDER,
  type EvaluationCard,
  type Finding,
  readEvaluationCard,
} from "./evaluation-card.js";
import type { Measures } from "./evaluator.js";

export interface EvaluateOptions {
  /** Most cases of each set; absent: all. */
  readonly limit?: number;
  readonly json?: boolean;
}

/**
 * Recomputes the numbers of packages' cards through their real pipelines and prints one table. The exit
 * code is 1 where one falls below its card; a limited evaluation only prints.
 */
export async function evaluateModels(
  ids: readonly string[],
  options: EvaluateOptions,
  config: Config,
): Promise<void> {
  const chosen = await chooseEvaluated(ids, config.modelsDir);
  const findings = await untilInterrupted("stopped; nothing was decided", async (signal) => {
    const all: PackageFinding[] = [];
    for (const { model, card } of chosen) {
      const measures = await measure(model, { config, limit: options.limit, signal });
      for (const finding of compareWithCard(card, measures)) all.push({ model: model.id, finding });
    }
    return all;
  });
  if (options.json) printJson(findings);
  else printTable(findings.map((finding) => toRow(finding, options.limit !== undefined)));
  if (options.limit === undefined && findings.some(({ finding }) => !finding.holds))
    process.exitCode = 1;
}

interface PackageFinding {
  readonly model: string;
  readonly finding: Finding;
}

interface Evaluated {
  readonly model: ModelPackage;
  readonly card: EvaluationCard;
}

/** The named packages, or all that state numbers. */
async function chooseEvaluated(ids: readonly string[], modelsDir: string): Promise<Evaluated[]> {
  const models = await listModelPackages(modelsDir);
  const missing = ids.find((id) => !models.some((model) => model.id === id));
  if (missing !== undefined) throw new Error(`${modelsDir} holds no model ${missing}`);
  const chosen: Evaluated[] = [];
  for (const model of models) {
    if (ids.length > 0 && !ids.includes(model.id)) continue;
    const card = await readEvaluationCard(model.path);
    if (card !== undefined) chosen.push({ model, card });
    else if (ids.length > 0) throw new Error(`${model.id} has no ${EVALUATION_FOLDER} folder`);
  }
  if (chosen.length === 0) throw new Error(`${modelsDir} holds no model that states numbers`);
  return chosen;
}

async function measure(
  model: ModelPackage,
  options: {
    readonly config: Config;
    readonly limit: number | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Measures> {
  const { config, limit, signal } = options;
  const progress = openProgress();
  try {
    return await evaluatePackage(model, {
      parts: runnerParts(config),
      config,
      limit,
      signal,
      progress: (done, of) => progress.update((100 * done) / of, model.id),
    });
  } finally {
    progress.close();
  }
}

function toRow({ model, finding }: PackageFinding, isLimited: boolean) {
  const { name, measured, holds } = finding;
  return {
    model,
    measure: name,
    measured: round(measured),
    card: round(finding.stated.card),
    verdict: isLimited ? "too few to say" : holds ? "holds" : "FALLS SHORT",
    bar: isLimited ? "" : sayBar(finding),
  };
}

/** `meets ≥ 0.95`, `misses ≥ 0.95 by 0.03`; empty where there is no bar. */
function sayBar({ stated: { target, better }, meets, missedBy = 0 }: Finding): string {
  if (target === undefined) return "";
  const bar = `${better === "higher" ? "≥" : "≤"} ${target}`;
  return meets ? `meets ${bar}` : `misses ${bar} by ${round(missedBy)}`;
}
