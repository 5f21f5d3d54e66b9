import { mkdir, mkdtemp, realpath, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { loadModelPackage, type ModelPackage } from "../runtime/packages/model-package.js";
import { inParallel } from "../core/async/in-parallel.js";
import { copyHashed, type HashedFile } from "../runtime/packages/copy-files.js";
import { parseForm } from "../runtime/onnx/graph-forms.js";
import type { Recognised } from "../runtime/packages/layout.js";
import { recognise } from "./registry.js";
import { findLicence } from "../runtime/packages/licence.js";
import { idOf, type ModelFolder, openModelFolder } from "../runtime/packages/model-folder.js";
import { packageFiles } from "../runtime/packages/package-files.js";

export interface AddModelOptions {
  /** Folder of the packages. */
  readonly modelsDir: string;
  /** Public name; made of the folder's name where absent. */
  readonly id?: string;
  /** Further folders merged in, e.g. voices. */
  readonly extra?: readonly string[];
  /** Form of the graphs to take where there are several: `fp16`, `q4` …; the plain one first. */
  readonly dtype?: string;
  /** Over what the folder says. */
  readonly licence?: string;
  /** Modality to take a text encoder as: `embeddings`, `rerank` or `moderation`. */
  readonly modality?: string;
  /** Execution providers in order of preference; the CPU where absent. */
  readonly providers?: readonly string[];
  /** Fields of model.json's `shapes` that no file of the folder states, e.g. `labels`. */
  readonly shapes?: Readonly<Record<string, unknown>>;
  /** Where it came from, for people; the folder's name where absent. */
  readonly source?: string;
  /** Whether to write model.json into the folder itself; so it is for a folder of `modelsDir`. */
  readonly inPlace?: boolean;
  readonly signal?: AbortSignal;
  /** Tries the package before it becomes visible; what it throws undoes everything. */
  readonly verify?: (model: ModelPackage) => Promise<void>;
}

/**
 * Recognises a published layout and makes a package of it: in place where the folder lies in
 * `modelsDir`, else as a copy of the files that its pipeline reads. All or nothing. Throws a sentence.
 */
export async function addModel(source: string, options: AddModelOptions): Promise<ModelPackage> {
  const { extra = [], dtype, modality } = options;
  const folder = await openModelFolder(
    source,
    extra,
    dtype === undefined ? undefined : parseForm(dtype),
  );
  const found = await recognise(folder, modality === undefined ? {} : { modality });
  const files = await packageFiles(folder, found, { extra, dtype });
  const plan = { folder, found, files, id: checkedId(source, options.id), options };
  await mkdir(options.modelsDir, { recursive: true });
  const isOwn = options.inPlace ?? (await isChild(source, options.modelsDir));
  return isOwn ? addInPlace(resolve(source), plan) : addCopy(plan);
}

interface AddPlan {
  readonly folder: ModelFolder;
  readonly found: Recognised;
  /** Role → path, weights beside graphs included. */
  readonly files: Readonly<Record<string, string>>;
  readonly id: string;
  readonly options: AddModelOptions;
}

function checkedId(source: string, wanted: string | undefined): string {
  const id = wanted ?? idOf(source);
  if (/^\w[\w.-]*$/.test(id)) return id;
  throw new Error(
    `the id must be letters, digits, dots, dashes and underscores, got ${JSON.stringify(id)}`,
  );
}

async function isChild(source: string, modelsDir: string): Promise<boolean> {
  return dirname(await realpath(source)) === (await realpath(modelsDir));
}

/** model.json beside files that are already there; what was merged in goes again where it fails. */
async function addInPlace(path: string, plan: AddPlan): Promise<ModelPackage> {
  const manifestPath = join(path, "model.json");
  if (await exists(manifestPath))
    throw new Error(`${manifestPath} exists: remove it to add the folder anew`);
  const target = join(plan.options.modelsDir, plan.id);
  if (resolve(target) !== path) await refuseTaken(target, plan);
  const made: string[] = [];
  try {
    for (const file of wantedFiles(plan)) {
      if (!(await exists(join(path, file)))) made.push(join(path, file));
    }
    made.push(manifestPath);
    return await writePackage(path, plan);
  } catch (thrown) {
    for (const file of made) await removeFile(file);
    throw thrown;
  }
}

/** The file, and its folder where nothing else is in it. */
async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => undefined);
}

/** A copy in a hidden folder of the same file system, seen only when it is whole and verified. */
async function addCopy(plan: AddPlan): Promise<ModelPackage> {
  const { id, options } = plan;
  const target = join(options.modelsDir, id);
  await refuseTaken(target, plan);
  const staging = await mkdtemp(join(options.modelsDir, ".adding-"));
  try {
    const made = join(staging, id);
    await writePackage(made, plan);
    await rename(made, target);
    return await loadModelPackage(target);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function refuseTaken(target: string, { id, options }: AddPlan): Promise<void> {
  if (!(await exists(target))) return;
  throw new Error(`${options.modelsDir} has a model ${id} already: choose another id or remove it`);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

/** Copies, or hashes where it lies, every file; writes model.json last and lets `verify` try it. */
async function writePackage(path: string, plan: AddPlan): Promise<ModelPackage> {
  const hashes = await placeFiles(path, plan);
  const files = Object.fromEntries(
    Object.entries(plan.files).map(([role, file]) => [role, { path: file, ...hashes.get(file) }]),
  );
  const manifest = await describePackage(plan, files);
  await writeFile(join(path, "model.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const model = await loadModelPackage(path);
  await plan.options.verify?.(model);
  return model;
}

async function placeFiles(path: string, plan: AddPlan): Promise<ReadonlyMap<string, HashedFile>> {
  const hashes = new Map<string, HashedFile>();
  await inParallel(wantedFiles(plan), plan.options.signal, async (file, signal) => {
    hashes.set(file, await copyHashed(plan.folder.absolute(file), join(path, file), signal));
  });
  return hashes;
}

/** Each file once, the large ones first; licence texts and the card travel along. */
function wantedFiles({ files, folder }: AddPlan): string[] {
  const wanted = new Set([...Object.values(files), ...folder.legalFiles()]);
  return [...wanted].toSorted((a, b) => Number(isHeavy(b)) - Number(isHeavy(a)));
}

function isHeavy(path: string): boolean {
  return /\.onnx|\.safetensors$/.test(path);
}

async function describePackage({ id, found, folder, options }: AddPlan, files: object) {
  const { modality, pipeline, concurrency, ahead, slot, shapes, sampler, limits } = found;
  return {
    id,
    modality,
    pipeline,
    files,
    execution: {
      providers: options.providers ?? ["cpu"],
      concurrency,
      ...(ahead !== undefined && { ahead }),
      ...(slot !== undefined && { slot }),
    },
    shapes: { ...shapes, ...options.shapes },
    ...(sampler && { sampler }),
    limits,
    memory: {},
    licence: options.licence ?? (await findLicence(folder)),
    source: options.source ?? `added from ${folder.name}`,
    card: "README.md",
  };
}
