import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { pipeline as pipeStreams } from "node:stream/promises";
import { loadModelPackage, type ModelPackage } from "../runtime/packages/model-package.js";
import { inParallel } from "../core/async/in-parallel.js";
import { parseForm } from "../runtime/onnx/graph-forms.js";
import type { Note, Recognised } from "../runtime/packages/layout.js";
import { hashFile } from "../runtime/packages/checked-files.js";
import { recognise } from "./registry.js";
import { idOf, type ModelFolder, openModelFolder } from "../runtime/packages/model-folder.js";
import { packageFiles } from "../runtime/packages/package-check.js";

export interface AddModelOptions {
  /** Folder of the packages. */
  readonly modelsDir: string;
  /** Public name; made of the folder's name by default. */
  readonly id?: string;
  /** Further folders merged in, e.g. voices. */
  readonly extra?: readonly string[];
  /** Form of the graphs to take where there are several: `fp16`, `q4` …; the plain one first. */
  readonly dtype?: string;
  /** Over what the folder says. */
  readonly licence?: string;
  /** Modality to take the folder as, where its files leave that open. */
  readonly modality?: string;
  /** How an embedder's token vectors become one, over what the folder says: `mean`, `cls` or `last`. */
  readonly pooling?: string;
  /** Execution providers in order of preference; the CPU by default. */
  readonly providers?: readonly string[];
  /** Fields of model.json's `shapes` that no file of the folder states, e.g. `labels`. */
  readonly shapes?: Readonly<Record<string, unknown>>;
  /** Where it came from, for people; the folder's name by default. */
  readonly source?: string;
  /** Whether to write model.json into the folder itself; so it is for a folder of `modelsDir`. */
  readonly inPlace?: boolean;
  readonly signal?: AbortSignal;
  /** Tries the package before it becomes visible; what it throws undoes everything. */
  readonly verify?: (model: ModelPackage) => Promise<void>;
  /** Hears what was decided where files leave it open. */
  readonly onNote?: (note: Note) => void;
}

/**
 * Recognises a published layout and makes a package of it: in place where the folder lies in
 * `modelsDir`, else as a copy of the files that its pipeline reads. All or nothing. Throws an error in plain words.
 */
export async function addModel(source: string, options: AddModelOptions): Promise<ModelPackage> {
  const { extra = [], dtype, modality, pooling } = options;
  const folder = await openModelFolder(
    source,
    extra,
    dtype === undefined ? undefined : parseForm(dtype),
  );
  const found = await recognise(folder, {
    ...(modality !== undefined && { modality }),
    ...(pooling !== undefined && { pooling }),
  });
  const files = await packageFiles(folder, found, { extra, dtype });
  const plan = { folder, found, files, id: checkedId(source, options.id), options };
  await mkdir(options.modelsDir, { recursive: true });
  const isOwn =
    options.inPlace ?? dirname(await realpath(source)) === (await realpath(options.modelsDir));
  const model = await (isOwn ? addInPlace(resolve(source), plan) : addCopy(plan));
  for (const note of found.notes ?? []) options.onNote?.(note);
  return model;
}

interface AddPlan {
  readonly folder: ModelFolder;
  readonly found: Recognised;
  /** Role → path, weights beside graphs included. */
  readonly files: Readonly<Record<string, string>>;
  readonly id: string;
  readonly options: AddModelOptions;
}

function checkedId(source: string, given: string | undefined): string {
  const id = given ?? idOf(source);
  if (/^\w[\w.-]*$/.test(id)) return id;
  throw new Error(
    `the id must be letters, digits, dots, dashes and underscores, got ${JSON.stringify(id)}`,
  );
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
    for (const file of packageFilesOf(plan)) {
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
  await inParallel(packageFilesOf(plan), plan.options.signal, async (file, signal) => {
    hashes.set(file, await copyHashed(plan.folder.absolute(file), join(path, file), signal));
  });
  return hashes;
}

/** Each file once, the large ones first; licence texts and the card travel along. */
function packageFilesOf({ files, folder }: AddPlan): string[] {
  const paths = new Set([...Object.values(files), ...folder.legalFiles()]);
  return [...paths].toSorted((a, b) => Number(isHeavy(b)) - Number(isHeavy(a)));
}

function isHeavy(path: string): boolean {
  return /\.onnx|\.safetensors$/.test(path);
}

async function describePackage({ id, found, folder, options }: AddPlan, files: object) {
  const { modality, pipeline, concurrency = 1, ahead, slot, shapes, sampler, limits = {} } = found;
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

interface HashedFile {
  readonly sha256: string;
  readonly byteLength: number;
}

/** Gigabytes in few large reads. */
const CHUNK_BYTES = 4 * 1_048_576;

/**
 * Copies a file and hashes it with one read of its bytes: the file system shares the blocks where it
 * can, else the bytes pass by on their way. Hashes in place where both paths are the same.
 */
async function copyHashed(from: string, to: string, signal: AbortSignal): Promise<HashedFile> {
  if (from === to) return describeFile(from, signal);
  await mkdir(dirname(to), { recursive: true });
  if (await cloneFile(from, to)) return describeFile(to, signal);
  const hash = createHash("sha256");
  let byteLength = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      byteLength += chunk.byteLength;
      yield chunk;
    }
  };
  const source = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  const target = createWriteStream(to, { flags: "wx", highWaterMark: CHUNK_BYTES });
  await pipeStreams(source, counted, target, { signal });
  return { sha256: hash.digest("hex"), byteLength };
}

/** Whether the file system made a copy that shares its blocks (btrfs, XFS, ZFS, APFS). */
async function cloneFile(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  } catch {
    return false;
  }
  await chmod(to, 0o644);
  return true;
}

async function describeFile(path: string, signal: AbortSignal): Promise<HashedFile> {
  return { sha256: await hashFile(path, signal), byteLength: (await stat(path)).size };
}

/** The hub's words for licences whose SPDX identifier is spelled otherwise. */
const SPDX: Readonly<Record<string, string>> = {
  mit: "MIT",
  "apache-2.0": "Apache-2.0",
  "bsd-3-clause": "BSD-3-Clause",
  "bsd-2-clause": "BSD-2-Clause",
  "cc-by-4.0": "CC-BY-4.0",
  "cc-by-nc-4.0": "CC-BY-NC-4.0",
  "cc-by-sa-4.0": "CC-BY-SA-4.0",
  "cc0-1.0": "CC0-1.0",
  unlicense: "Unlicense",
};

/** First words of licence texts. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/Apache License\s+Version 2\.0/i, "Apache-2.0"],
  [/\bMIT License\b|Permission is hereby granted, free of charge/i, "MIT"],
  [/Attribution-NonCommercial 4\.0/i, "CC-BY-NC-4.0"],
  [/Attribution-ShareAlike 4\.0/i, "CC-BY-SA-4.0"],
  [/Attribution 4\.0 International/i, "CC-BY-4.0"],
  [/CreativeML Open RAIL/i, "OpenRAIL-M"],
  [/Neither the name[\s\S]*Redistribution|Redistribution[\s\S]*Neither the name/i, "BSD-3-Clause"],
];

export const UNKNOWN_LICENCE = "unknown";

/** The licence as README.md's head or the licence file says it, else `unknown`. */
export async function findLicence(folder: ModelFolder): Promise<string> {
  const [licenceFile] = folder.matching(/^(LICEN[CS]E|COPYING)([-._][\w.-]+)?$/i);
  const card = await readText(folder, folder.find("README.md"));
  const stated = licenceOfCard(card);
  if (stated !== undefined) return stated;
  const text = await readText(folder, licenceFile);
  if (licenceFile === undefined || text === "") return UNKNOWN_LICENCE;
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? `see ${licenceFile}`;
}

/** `license` of the card's YAML head; `license_name` where that says only `other`. */
function licenceOfCard(card: string): string | undefined {
  const [, head = ""] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card) ?? [];
  const value = (key: string) =>
    new RegExp(`^${key}:\\s*["']?([\\w.+-]+)["']?\\s*$`, "m").exec(head)?.[1];
  const word = value("license");
  if (word === undefined) return undefined;
  return word === "other" ? value("license_name") : (SPDX[word.toLowerCase()] ?? word);
}

async function readText(folder: ModelFolder, path: string | undefined): Promise<string> {
  return path === undefined ? "" : await readFile(folder.absolute(path), "utf8");
}
