import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { z } from "zod";
import { parseJson } from "./parse-settings.js";
import { type OnnxOutline, readOnnxOutline } from "../onnx/onnx-outline.js";
import { chooseForm, findForms, type GraphForm } from "../onnx/graph-forms.js";

/**
 * The files of a published model, its own and those of the folders added to it, as one listing; licence
 * texts of the latter lie in a folder of its name.
 */
export interface ModelFolder {
  /** Name of the folder, without its path. */
  readonly name: string;
  /** Relative paths with `/`. */
  readonly paths: ReadonlySet<string>;
  has(path: string): boolean;
  /** The first of these that is there. */
  find(...paths: readonly string[]): string | undefined;
  matching(pattern: RegExp): string[];
  /** Licence texts and cards. */
  legalFiles(): string[];
  /** Where a file really is. Throws an error that names it where it is missing. */
  absolute(path: string): string;
  byteLength(path: string): Promise<number>;
  /** Undefined where the file is missing; throws an error that names the file and the field. */
  readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined>;
  /** Path of the first of these graphs, in the form that is wanted where it has that form. */
  findGraph(...bases: readonly string[]): string | undefined;
  outline(path: string): OnnxOutline;
}

const MAX_DEPTH = 6;
const MAX_FILES = 10_000;

/** Lists `source` and the `extra` folders; where two hold the same path, the first one counts. */
export async function openModelFolder(
  source: string,
  extra: readonly string[] = [],
  form?: GraphForm,
): Promise<ModelFolder> {
  const files = new Map<string, string>();
  for (const path of await listFiles(source)) files.set(path, join(source, path));
  for (const root of extra) {
    for (const path of await listFiles(root)) {
      const isLegal = !path.includes("/") && LEGAL_FILE.test(path);
      const merged = isLegal ? `${idOf(root)}/${path}` : path;
      if (!files.has(merged)) files.set(merged, join(root, path));
    }
  }
  return createModelFolder(basename(resolve(source)), files, form);
}

/** Licence texts and the card at the top of a folder, or one folder below. */
const LEGAL_FILE = /^([^/]+\/)?(LICEN[CS]E|COPYING|NOTICE|README)([-._][\w.-]+)?$/i;

/** A model's id, and a part of a file's name, made of a folder's name. */
export function idOf(folder: string): string {
  return basename(resolve(folder))
    .replaceAll(/[^\w.-]+/g, "-")
    .replace(/^[.-]+/, "");
}

function createModelFolder(
  name: string,
  files: ReadonlyMap<string, string>,
  form: GraphForm | undefined,
): ModelFolder {
  const paths = new Set(files.keys());
  const matching = (pattern: RegExp) => [...paths].filter((path) => pattern.test(path)).toSorted();
  const outlines = new Map<string, OnnxOutline>();
  const absolute = (path: string) => {
    const full = files.get(path);
    if (full === undefined) throw new Error(`${name} has no ${path}`);
    return full;
  };
  return {
    name,
    paths,
    has: (path) => files.has(path),
    find: (...candidates) => candidates.find((path) => files.has(path)),
    matching,
    legalFiles: () => matching(LEGAL_FILE),
    absolute,
    byteLength: async (path) => (await stat(absolute(path))).size,
    async readJson(path, schema) {
      if (!files.has(path)) return undefined;
      return parseJson(schema, await readFile(absolute(path), "utf8"), `${name}/${path}`);
    },
    findGraph: (...bases) =>
      bases
        .map((base) => chooseForm(findForms(paths, base), form))
        .find((path) => path !== undefined),
    outline(path) {
      const known = outlines.get(path) ?? readOnnxOutline(absolute(path));
      outlines.set(path, known);
      return known;
    },
  };
}

/** Files below a folder, links followed, hidden folders left out. */
async function listFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const { name } of await readdir(join(root, folder), { withFileTypes: true })) {
      if (name.startsWith(".") || name === "node_modules") continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      // A hub's cache links every file to a blob elsewhere.
      const what = await stat(join(root, path)).catch(() => null);
      if (what?.isDirectory() && depth < MAX_DEPTH) await visit(path, depth + 1);
      if (what?.isFile()) found.push(path);
      if (found.length > MAX_FILES)
        throw new Error(`${root} has more than ${MAX_FILES} files: it is not one model's folder`);
    }
  };
  const what = await stat(root).catch(() => null);
  if (!what?.isDirectory()) throw new Error(`${root} is not a folder`);
  await visit("", 1);
  return found;
}
