import { join } from "node:path";
import type { Config } from "../../config.js";
import {
  listModelPackages,
  type ModelPackage,
  verifyModelPackage,
} from "../../inference/model-package.js";
import { openSessions } from "../../inference/session.js";
import { printJson, printTable } from "./table.js";

export async function listModels(
  options: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const models = await listModelPackages(config.modelsDir);
  const rows = models.map((model) => ({
    id: model.id,
    modality: model.modality,
    pipeline: model.pipeline,
    megabytes: Number((byteLength(model) / 1e6).toFixed(1)),
    licence: model.licence,
  }));
  if (options.json) printJson(rows);
  else printTable(rows);
}

/** Fails with a sentence on the first package whose files or graphs are not as they should be. */
export async function checkModels(id: string | undefined, config: Config): Promise<void> {
  const models = await listModelPackages(config.modelsDir);
  const chosen = models.filter((model) => id === undefined || model.id === id);
  if (chosen.length === 0) throw new Error(`${config.modelsDir} holds no model ${id ?? ""}`.trim());
  for (const model of chosen) {
    await verifyModelPackage(model);
    const graphs = Object.entries(model.files).filter(([, { path }]) => path.endsWith(".onnx"));
    const session = await openSessions({
      graphs: Object.fromEntries(graphs.map(([role, { path }]) => [role, join(model.path, path)])),
      threads: config.threads,
      providers: model.execution.providers,
    });
    await session.close();
    process.stdout.write(
      `${model.id}: ${Object.keys(model.files).length} files hash as they should, ${graphs.length} graphs open\n`,
    );
  }
}

function byteLength({ files }: ModelPackage): number {
  return Object.values(files).reduce((sum, file) => sum + file.byteLength, 0);
}
