import type { Config } from "../../config.js";
import { updateManifest } from "../../runtime/packages/manifest-file.js";
import {
  listModelPackages,
  loadModelPackage,
  type ModelPackage,
  verifyModelPackage,
} from "../../runtime/packages/model-package.js";
import { measurePackage } from "../measure-package.js";
import { runnerParts } from "../package-runner.js";
import { untilInterrupted } from "./interrupt.js";
import { printTable } from "./table.js";

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
        mebibytes: Math.round(bytes / 2 ** 20),
      }));
      printTable(rows);
    }
  });
}

/** Puts the weights of large graphs into files that are mapped; one line a package. */
export async function externaliseModels(ids: readonly string[], config: Config): Promise<void> {
  const { externalisePackage } = await import("../../runtime/packages/externalise-package.js");
  for (const model of await chosenModels(ids, config.modelsDir)) {
    await verifyModelPackage(model);
    const roles = await externalisePackage(model);
    await verifyModelPackage(await loadModelPackage(model.path));
    const what =
      roles.length === 0 ? "no graph is large enough" : `${roles.join(", ")} mapped from now on`;
    process.stdout.write(`${model.id}: ${what}\n`);
  }
}

/** Makes samplers of denoisers; one line a package. */
export async function fuseModels(ids: readonly string[], config: Config): Promise<void> {
  const { fusePackage } = await import("../../models/diffusion/fuse-package.js");
  for (const model of await chosenModels(ids, config.modelsDir)) {
    await verifyModelPackage(model);
    await fusePackage(model);
    await verifyModelPackage(await loadModelPackage(model.path));
    process.stdout.write(`${model.id}: denoises several steps a run from now on\n`);
  }
}

/** The named packages, or all. */
async function chosenModels(ids: readonly string[], modelsDir: string): Promise<ModelPackage[]> {
  const models = await listModelPackages(modelsDir);
  const missing = ids.find((id) => !models.some((model) => model.id === id));
  if (missing !== undefined) throw new Error(`${modelsDir} holds no model ${missing}`);
  return models.filter(({ id }) => ids.length === 0 || ids.includes(id));
}
