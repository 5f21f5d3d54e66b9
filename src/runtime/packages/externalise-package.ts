import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hashFile } from "./checked-files.js";
import { externaliseWeights } from "./externalise.js";
import { updateManifest } from "./manifest-file.js";
import type { ModelManifest, ModelPackage } from "./model-package.js";
import { readOnnxOutline } from "../onnx/onnx-outline.js";

/** Weights of smaller graphs are read as quickly as mapped. */
const LEAST_BYTES = 8 * 2 ** 20;

type Files = ModelManifest["files"];

/**
 * Puts the weights of a package's large graphs into files beside them, which are mapped instead of read;
 * returns the roles of those graphs. model.json changes once the new files are whole, the old graphs go
 * last. The package's files must have been verified.
 */
export async function externalisePackage(model: ModelPackage): Promise<readonly string[]> {
  const files = { ...model.files };
  const [roles, old]: [string[], string[]] = [[], []];
  for (const [role, { path, byteLength }] of Object.entries(model.files)) {
    if (!path.endsWith(".onnx") || byteLength < LEAST_BYTES) continue;
    if (readOnnxOutline(join(model.path, path)).externalTensors.length > 0) continue;
    Object.assign(files, await externaliseGraph(model.path, role, path));
    roles.push(role);
    old.push(path);
  }
  if (roles.length === 0) return roles;
  await updateManifest(model.path, { files });
  const used = new Set(Object.values(files).map(({ path }) => path));
  for (const path of old) if (!used.has(path)) await rm(join(model.path, path));
  return roles;
}

async function externaliseGraph(folder: string, role: string, path: string): Promise<Files> {
  const graph = path.replace(/\.onnx$/, ".external.onnx");
  const weights = `${graph}.data`;
  // What an earlier run did not finish.
  for (const left of [graph, weights]) await rm(join(folder, left), { force: true });
  externaliseWeights(join(folder, path), join(folder, graph), join(folder, weights));
  const stated = async (name: string) => {
    const full = join(folder, name);
    const { size } = await stat(full);
    return { path: name, sha256: await hashFile(full), byteLength: size };
  };
  return { [role]: await stated(graph), [`${role}-data`]: await stated(weights) };
}
