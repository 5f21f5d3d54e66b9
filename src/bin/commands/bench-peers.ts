import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../../config.js";
import { addModel } from "../../inference/layouts/add-model.js";
import { listModelPackages, type ModelPackage } from "../../inference/model-package.js";

/** Where a checkout has published models beside it, three small ones. */
const BESIDE = fileURLToPath(new URL("../../../../shared/data/models/", import.meta.url));
const DEFAULTS = ["chat-stories260K", "tiny-official/embed-bert", "tiny-official/rerank-bert"];

/**
 * Runs with packages made of these published models as the only ones; without any, of those beside the
 * checkout, or else with the configuration's own.
 */
export async function withPeerModels<T>(
  config: Config,
  folders: readonly string[] | undefined,
  use: (config: Config) => Promise<T>,
): Promise<T> {
  const chosen = folders ?? DEFAULTS.map((name) => join(BESIDE, name)).filter(existsSync);
  if (chosen.length === 0) return await use(config);
  const modelsDir = await mkdtemp(join(tmpdir(), "framemill-peers-"));
  try {
    for (const folder of chosen) await addModel(folder, { modelsDir });
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
