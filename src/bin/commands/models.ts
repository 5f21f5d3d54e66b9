import { basename } from "node:path";
import type { Config } from "../../config.js";
import {
  listModelFolders,
  listModelPackages,
  loadModelPackage,
  type ModelPackage,
  verifyModelPackage,
} from "../../runtime/packages/model-package.js";
import { runCanary } from "../canary.js";
import { type RunnerParts, runnerParts } from "../package-runner.js";
import { printJson, printTable } from "./table.js";

export async function listModels(
  options: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const models = await listModelPackages(config.modelsDir);
  const rows = models.map((model) => ({
    id: model.id,
    modality: model.modality,
    pipeline: model.pipeline,
    megabytes: Number((byteLength(model) / 1e6).toFixed(1)),
    licence: model.licence,
  }));
  if (options.json) printJson(rows);
  else printTable(rows);
}

function byteLength({ files }: ModelPackage): number {
  return Object.values(files).reduce((sum, file) => sum + file.byteLength, 0);
}

export interface CheckOptions {
  /** False: no inference is run. */
  readonly canary?: boolean;
}

/** One line a package: what was found in order, or the first thing that is wrong; then the exit code is 1. */
export async function checkModels(
  ids: readonly string[],
  options: CheckOptions,
  config: Config,
): Promise<void> {
  const folders = await chosenFolders(ids, config.modelsDir);
  for (const folder of folders) {
    const verdict = await examine(folder, options, config).catch((thrown: unknown) => {
      process.exitCode = 1;
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return `${basename(folder)}: FAILS: ${reason.trim()}`;
    });
    process.stdout.write(`${verdict}\n`);
  }
}

/** Folders of these models; of all where none is named. A broken model.json still has its folder's name. */
async function chosenFolders(ids: readonly string[], modelsDir: string): Promise<string[]> {
  const folders = await listModelFolders(modelsDir);
  const named = await Promise.all(
    folders.map(async (folder) => {
      const model = await loadModelPackage(folder).catch(() => undefined);
      return { folder, id: model?.id ?? basename(folder) };
    }),
  );
  const missing = ids.find((id) => !named.some((one) => one.id === id));
  if (missing !== undefined) throw new Error(`${modelsDir} holds no model ${missing}`);
  if (named.length === 0) throw new Error(`${modelsDir} holds no model`);
  return named.filter(({ id }) => ids.length === 0 || ids.includes(id)).map(({ folder }) => folder);
}

async function examine(folder: string, options: CheckOptions, config: Config): Promise<string> {
  const model = await loadModelPackage(folder);
  await verifyModelPackage(model);
  const parts = options.canary === false ? undefined : runnerParts(config);
  const found = await tryModel(model, { threads: config.threads, parts });
  return `${model.id}: ${Object.keys(model.files).length} files hash as they should, ${found}`;
}

export interface Trial {
  readonly threads: number;
  /** Absent: no canary is run. */
  readonly parts: RunnerParts | undefined;
  readonly signal?: AbortSignal;
}

/** Checks and opens the graphs, then runs the canary where there are parts for one. Throws a sentence. */
export async function tryModel(
  model: ModelPackage,
  { threads, parts, signal }: Trial,
): Promise<string> {
  // Loads ONNX Runtime, which the other commands do without.
  const { checkGraphs, openEachGraph } = await import("../../runtime/packages/package-check.js");
  await checkGraphs(model);
  const count = await openEachGraph(model, threads, signal);
  const opened = `${count} ${count === 1 ? "graph opens" : "graphs open"}`;
  if (parts === undefined) return opened;
  const seconds = await runCanary(model, parts, signal);
  return `${opened}, the canary took ${seconds.toFixed(1)} s`;
}
