import { JobError } from "../core/errors.js";
import type { ModelInfo } from "../core/modality.js";

export function renderModels(models: readonly ModelInfo[]) {
  return { object: "list", data: models.map(renderModel) };
}

export function renderModel({ id, createdAtSeconds }: ModelInfo) {
  return { id, object: "model", created: createdAtSeconds, owned_by: "framemill" };
}

export function getModel(models: readonly ModelInfo[], id: string): ModelInfo {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  throw new JobError("model_not_found", `no model has the id ${JSON.stringify(id.slice(0, 64))}`, {
    param: "model",
  });
}
