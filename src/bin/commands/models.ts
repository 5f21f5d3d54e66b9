import { basename, join } from "node:path";
import { mkdir, rename, rm, rmdir } from "node:fs/promises";
import { z } from "zod";
import { type Config, parseProviderOptions } from "../../config.js";
import { messageOf } from "../../core/errors.js";
import {
  listModelFolders,
  listModelPackages,
  loadModelPackage,
  type ModelPackage,
  updateManifest,
  verifyModelPackage,
} from "../../runtime/packages/model-package.js";
import { runCanary, type RunnerParts, runnerParts, measurePackage } from "../package-runner.js";
import { addModel, type AddModelOptions, UNKNOWN_LICENCE } from "../../models/add-model.js";
import { untilInterrupted } from "../shutdown.js";
import { type HubRepository, parseRepository } from "../../runtime/packages/hub.js";
import type { Note } from "../../runtime/packages/layout.js";
import { parseForm } from "../../runtime/onnx/graph-forms.js";
import { type DownloadedModel, downloadModel } from "../../runtime/packages/model-download.js";
import { printJson, printTable } from "./table.js";
import { describePlacement } from "../../runtime/ort/placement.js";
import { openProgress } from "./progress.js";

export async function listModels(
  options: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const [models, loaded] = await Promise.all([
    listModelPackages(config.modelsDir),
    readLoaded(config),
  ]);
  const rows = models.map((model) => ({
    id: model.id,
    modality: model.modality,
    pipeline: model.pipeline,
    megabytes: Number((byteLength(model) / 1e6).toFixed(1)),
    licence: model.licence,
    loaded: loaded === undefined ? "" : loaded.includes(model.id) ? "yes" : "no",
  }));
  if (options.json) printJson(rows);
  else printTable(rows);
}

/** Models that the worker of this machine has in memory; undefined where none answers at its port. */
async function readLoaded({ workerPort }: Config): Promise<readonly string[] | undefined> {
  try {
    const signal = AbortSignal.timeout(500);
    const answer = await fetch(`http://127.0.0.1:${workerPort}/models`, { signal });
    return z.object({ loaded: z.array(z.string()) }).parse(await answer.json()).loaded;
  } catch {
    return undefined;
  }
}

function byteLength({ files }: ModelPackage): number {
  return Object.values(files).reduce((sum, file) => sum + file.byteLength, 0);
}

export interface CheckOptions {
  /** False: no inference is run. */
  readonly canary?: boolean;
  /** Execution provider, over those of model.json. */
  readonly provider?: string;
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
      return `${basename(folder)}: FAILS: ${messageOf(thrown).trim()}`;
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
  const { provider } = options;
  const providers = provider === undefined ? undefined : [provider, "cpu"];
  const providerOptions = parseProviderOptions(config);
  const model = await loadModelPackage(folder, { providers, providerOptions });
  await verifyModelPackage(model);
  const asked = providers === undefined ? config : { ...config, providers };
  const parts = options.canary === false ? undefined : runnerParts(asked);
  const { text } = await tryModel(model, { threads: config.threads, parts });
  return `${model.id}: ${Object.keys(model.files).length} files hash as they should, ${text}`;
}

export interface Trial {
  readonly threads: number;
  /** Absent: no canary is run. */
  readonly parts: RunnerParts | undefined;
  readonly signal?: AbortSignal;
}

interface Verdict {
  /** For people. */
  readonly text: string;
  /** `memory` of model.json, where the canary measured it whole. */
  readonly memory?: Readonly<Record<string, number>>;
}

/** Checks and opens the graphs, then runs the canary where there are parts for one. Throws what is wrong. */
export async function tryModel(
  model: ModelPackage,
  { threads, parts, signal }: Trial,
): Promise<Verdict> {
  // Loads ONNX Runtime, which the other commands do without.
  const { checkGraphs, openEachGraph } = await import("../../runtime/packages/package-check.js");
  await checkGraphs(model);
  const count = await openEachGraph(model, threads, signal);
  const opened = `${count} ${count === 1 ? "graph opens" : "graphs open"}`;
  if (parts === undefined) return { text: opened };
  const { seconds, placements, peakBytes, memory } = await runCanary(model, parts, signal);
  const placed = placements.map((graph) => `; ${describePlacement(graph)}`);
  const took = `${seconds.toFixed(1)} s and ${mebibytes(peakBytes)} MiB`;
  const text = `${opened}, the canary took ${took}${placed.join("")}`;
  return { text, ...(memory && { memory }) };
}

interface AddOptions {
  readonly id?: string;
  readonly dtype?: string;
  /** Further folders. */
  readonly with?: readonly string[];
  readonly licence?: string;
  /** Modality of a text encoder whose files leave it open. */
  readonly as?: string;
  /** Pooling of an embedder, over what its files say. */
  readonly pooling?: string;
  /** Execution providers, comma-separated. */
  readonly providers?: string;
  /** JSON object: fields over model.json's `shapes`. */
  readonly shapes?: string;
  /** False: no inference is run. */
  readonly canary?: boolean;
}

/** Makes a package of a published model's folder and tries it; nothing is left of one that fails. */
export async function addModels(
  folder: string,
  options: AddOptions,
  config: Config,
): Promise<void> {
  await untilInterrupted("stopped; nothing was added", (signal) =>
    addAndTry(folder, options, config, {
      signal,
      ...(options.with && { extra: options.with }),
    }),
  );
}

/** Adds the package, tries it before it is visible, and prints what was found. */
async function addAndTry(
  folder: string,
  options: AddOptions,
  config: Config,
  further: Partial<AddModelOptions> & { readonly signal: AbortSignal },
): Promise<ModelPackage> {
  const { id, dtype, licence, as: modality, pooling, providers, shapes } = options;
  const parts = options.canary === false ? undefined : runnerParts(config);
  let found = "";
  const notes: Note[] = [];
  const model = await addModel(folder, {
    modelsDir: config.modelsDir,
    ...(id !== undefined && { id }),
    ...(dtype !== undefined && { dtype }),
    ...(licence !== undefined && { licence }),
    ...(modality !== undefined && { modality }),
    ...(pooling !== undefined && { pooling }),
    ...(shapes !== undefined && { shapes: parseShapes(shapes) }),
    ...(providers !== undefined && { providers: providers.split(",") }),
    ...further,
    onNote: (note) => notes.push(note),
    async verify(made) {
      const trial = { threads: config.threads, parts, signal: further.signal };
      const { text, memory } = await tryModel(made, trial);
      if (memory !== undefined) await updateManifest(made.path, { memory });
      found = text;
    },
  });
  report(model, found, notes);
  return model;
}

function report(model: ModelPackage, found: string, notes: readonly Note[]): void {
  const { id, modality, pipeline, limits, licence } = model;
  const context = limits.contextTokens === undefined ? "" : `, ${limits.contextTokens} tokens`;
  process.stdout.write(
    `${id}: ${modality} (${pipeline}${context}), licence ${licence}; ${found}\n`,
  );
  for (const { text, isWarning } of notes) {
    if (isWarning) process.stderr.write(`warning: ${id}: ${text}\n`);
    else process.stdout.write(`${id}: ${text}\n`);
  }
  if (licence === UNKNOWN_LICENCE)
    process.stderr.write(
      `warning: ${id}: neither its card nor a file states a licence: state it with --licence\n`,
    );
}

function parseShapes(text: string): Readonly<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`--shapes must be a JSON object, got ${text}`, { cause });
  }
}

/** Measures the memory of packages and writes it into their model.json. */
export async function measureModels(ids: readonly string[], config: Config): Promise<void> {
  const models = await chosenModels(ids, config.modelsDir);
  await untilInterrupted("stopped; what was measured is written", async (signal) => {
    for (const model of models) {
      const memory = await measurePackage(model, runnerParts(config), signal);
      await updateManifest(model.path, { memory });
      const rows = Object.entries(memory).map(([name, bytes]) => ({
        model: model.id,
        case: name,
        mebibytes: mebibytes(bytes),
      }));
      printTable(rows);
    }
  });
}

/** Puts the weights of large graphs into files that are mapped; one line a package. */
export async function externaliseModels(ids: readonly string[], config: Config): Promise<void> {
  const { externalisePackage } = await import("../../runtime/packages/externalise.js");
  for (const model of await chosenModels(ids, config.modelsDir)) {
    await verifyModelPackage(model);
    const roles = await externalisePackage(model);
    await verifyModelPackage(await loadModelPackage(model.path));
    const what =
      roles.length === 0 ? "no graph is large enough" : `${roles.join(", ")} mapped from now on`;
    process.stdout.write(`${model.id}: ${what}\n`);
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

/** The named packages, or all. */
async function chosenModels(ids: readonly string[], modelsDir: string): Promise<ModelPackage[]> {
  const models = await listModelPackages(modelsDir);
  const missing = ids.find((id) => !models.some((model) => model.id === id));
  if (missing !== undefined) throw new Error(`${modelsDir} holds no model ${missing}`);
  return models.filter(({ id }) => ids.length === 0 || ids.includes(id));
}

interface PullOptions extends AddOptions {
  readonly baseUrl: string;
  readonly include?: readonly string[];
  readonly subfolder?: string;
}

/** Not a package until it is whole: a folder without model.json of its own is not looked at. */
const UNFINISHED = ".pulling";

/** Downloads a model of a hub and makes a package of it; a download that broke off is gone on with. */
export async function pullModel(text: string, options: PullOptions, config: Config): Promise<void> {
  const repository = parseRepository(text);
  const unfinished = join(config.modelsDir, UNFINISHED);
  const { id = repository.name.split("/").at(-1) ?? repository.name } = options;
  await mkdir(unfinished, { recursive: true });
  await untilInterrupted("stopped; the same command goes on from here", async (signal) => {
    const downloaded = await download(repository, unfinished, { options, config, signal });
    const { path, commit, folder } = downloaded;
    const source = `pulled from ${repository.name}@${commit}`;
    const further = { source, inPlace: true, signal };
    const model = await addAndTry(path, { ...options, id }, config, further);
    await rename(model.path, join(config.modelsDir, model.id));
    await rm(folder, { recursive: true, force: true });
  });
  await rmdir(unfinished).catch(() => undefined);
}

interface Wishes {
  readonly options: PullOptions;
  readonly config: Config;
  readonly signal: AbortSignal;
}

async function download(
  repository: HubRepository,
  folder: string,
  { options, config, signal }: Wishes,
): Promise<DownloadedModel> {
  const { baseUrl, include, subfolder, dtype } = options;
  const progress = openProgress();
  try {
    return await downloadModel({
      hub: { baseUrl, ...(config.hubToken !== undefined && { token: config.hubToken }) },
      repository,
      folder,
      ...(dtype !== undefined && { form: parseForm(dtype) }),
      ...(include && { include }),
      ...(subfolder !== undefined && { subfolder }),
      signal,
      onProgress: (bytes, of) => progress.update(of === 0 ? 0 : (bytes / of) * 100, "pulling"),
    });
  } finally {
    progress.close();
  }
}
