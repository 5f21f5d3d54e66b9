import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../src/config.js";
import { addModel } from "../../../src/models/add-model.js";
import {
  listModelPackages,
  type ModelPackage,
} from "../../../src/runtime/packages/model-package.js";

/** Runs with packages made of these published models as the only ones, or with the configuration's own. */
export async function withPeerModels<T>(
  config: Config,
  folders: readonly string[] = [],
  use: (config: Config) => Promise<T>,
): Promise<T> {
  if (folders.length === 0) return await use(config);
  const modelsDir = await mkdtemp(join(tmpdir(), "framemill-peers-"));
  try {
    for (const folder of folders) await addModel(folder, { modelsDir });
    return await use({ ...config, modelsDir });
  } finally {
    await rm(modelsDir, { recursive: true, force: true });
  }
}

/** The packages whose files lie where transformers.js looks for them. */
export async function listPeerPackages(modelsDir: string): Promise<ModelPackage[]> {
  const packages = await listModelPackages(modelsDir);
  return packages.filter(({ path }) => existsSync(join(path, "onnx", "model.onnx")));
}
