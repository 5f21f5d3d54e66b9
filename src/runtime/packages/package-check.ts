import { existsSync } from "node:fs";
import { join } from "node:path";
import { requiredTensors } from "../onnx/required-tensors.js";
import type { ModelPackage } from "./model-package.js";
import {
  checkExternalData,
  checkTensors,
  explainOpenFailure,
  externalFiles,
} from "../onnx/onnx-check.js";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { openSessions } from "../ort/session.js";

/** Role and path of every graph. */
function graphsOf({ files }: ModelPackage): (readonly [role: string, path: string])[] {
  return Object.entries(files).flatMap(([role, { path }]) =>
    path.endsWith(".onnx") ? [[role, path] as const] : [],
  );
}

/** Checks each graph's tensors and the files of its weights, without loading them. Throws a sentence. */
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
  const { providers } = model.execution;
  for (const [role, path] of graphs) {
    signal?.throwIfAborted();
    const full = join(model.path, path);
    try {
      const session = await openSessions({ graphs: { [role]: full }, threads, providers });
      await session.close();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const short = reason.replaceAll(full, path);
      throw new Error(explainOpenFailure(`${role} (${path})`, short), { cause });
    }
  }
  return graphs.length;
}
