import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../core/errors.js";
import { parseForm } from "../onnx/graph-forms.js";
import {
  checkExternalData,
  checkTensors,
  externalFiles,
  type NamedGraph,
} from "../onnx/onnx-check.js";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { requiredTensors } from "../onnx/required-tensors.js";
import { openGraphs } from "../ort/graphs.js";
import type { Recognised } from "./layout.js";
import type { ModelFolder } from "./model-folder.js";
import { graphsSetup, type ModelPackage } from "./model-package.js";

/** Role and path of every graph. */
function graphsOf({ files }: ModelPackage): (readonly [role: string, path: string])[] {
  return Object.entries(files).flatMap(([role, { path }]) =>
    path.endsWith(".onnx") ? [[role, path] as const] : [],
  );
}

/** Checks each graph's tensors and the files of its weights, without loading them. Throws an error in plain words. */
export async function checkGraphs(model: ModelPackage): Promise<void> {
  const listed = new Set(Object.values(model.files).map(({ path }) => path));
  for (const [role, path] of graphsOf(model)) {
    const graph = { role, path, outline: readOnnxOutline(join(model.path, path)) };
    checkTensors(graph, requiredTensors(model, role));
    const unlisted = externalFiles(graph).find((file) => !listed.has(file));
    if (unlisted !== undefined)
      throw new Error(
        `the graph ${role} (${path}) keeps weights in ${unlisted}, which model.json does not list`,
      );
    await checkExternalData(graph, (file) => {
      const full = join(model.path, file);
      return existsSync(full) ? full : undefined;
    });
  }
}

/** Opens the graphs one after the other, so that one at a time is in memory; returns how many there are. */
export async function openEachGraph(
  model: ModelPackage,
  threads: number,
  signal?: AbortSignal,
): Promise<number> {
  const graphs = graphsOf(model);
  for (const [role, path] of graphs) {
    signal?.throwIfAborted();
    const full = join(model.path, path);
    try {
      const session = await openGraphs({ ...graphsSetup(model, [role]), threads });
      await session.close();
    } catch (cause) {
      // The package that is being made has no place of its own yet.
      throw new Error(messageOf(cause).replaceAll(full, path), { cause });
    }
  }
  return graphs.length;
}

interface FileWishes {
  /** Folders merged into the model's. */
  readonly extra: readonly string[];
  /** Form of the graphs, as the caller spells it. */
  readonly dtype: string | undefined;
}

/**
 * Role → path of all files of a package, weights beside graphs included, once its graphs are found to
 * be as their pipeline needs them. Throws an error that names what is not.
 */
export async function packageFiles(
  folder: ModelFolder,
  found: Recognised,
  { extra, dtype }: FileWishes,
): Promise<Readonly<Record<string, string>>> {
  refuseMissingForm(found, dtype);
  const files = { ...found.files, ...(await dataFiles(folder, found)) };
  await refuseUseless(folder, files, extra);
  return files;
}

function refuseMissingForm({ files }: Recognised, dtype: string | undefined): void {
  const suffix = dtype === undefined || dtype === "fp32" ? undefined : parseForm(dtype);
  if (suffix === undefined || suffix === "plain") return;
  const graphs = Object.values(files).filter((path) => path.endsWith(".onnx"));
  const ending = suffix === "q8" ? "_quantized.onnx" : `_${suffix}.onnx`;
  if (graphs.some((path) => path.endsWith(ending))) return;
  throw new Error(
    `no graph is there as ${dtype}: without --dtype ${graphs.join(", ")} would be taken`,
  );
}

/** An empty file fails later and worse; a folder that gives nothing was meant for another model. */
async function refuseUseless(
  folder: ModelFolder,
  files: Readonly<Record<string, string>>,
  extra: readonly string[],
): Promise<void> {
  const paths = Object.values(files);
  for (const path of paths) {
    if ((await folder.byteLength(path)) === 0) throw new Error(`${folder.name}/${path} is empty`);
  }
  const useless = extra.find(
    (root) => !paths.some((path) => folder.absolute(path) === join(root, path)),
  );
  if (useless !== undefined)
    throw new Error(`nothing of ${useless} is read by the pipeline of ${folder.name}`);
}

/** Checks every graph and finds the files of its weights: `decoder-data`, `decoder-data-2` … */
async function dataFiles(folder: ModelFolder, found: Recognised): Promise<Record<string, string>> {
  const roles: Record<string, string> = {};
  const taken = new Set(Object.values(found.files));
  for (const [role, path] of Object.entries(found.files)) {
    if (!path.endsWith(".onnx")) continue;
    const graph: NamedGraph = { role, path, outline: folder.outline(path) };
    checkTensors(graph, requiredTensors(found, role));
    await checkExternalData(graph, (file) =>
      folder.has(file) ? folder.absolute(file) : undefined,
    );
    for (const [index, file] of externalFiles(graph).entries()) {
      if (taken.has(file)) continue;
      taken.add(file);
      roles[index === 0 ? `${role}-data` : `${role}-data-${index + 1}`] = file;
    }
  }
  return roles;
}
