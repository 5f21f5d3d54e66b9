import { JobError } from "../../core/errors.js";
import type { Modality, ModelInfo } from "../../core/modality.js";
import { listModalities } from "../../modalities/registry.js";

export function renderModels(models: readonly ModelInfo[]) {
  return { object: "list", data: models.map(renderModel) };
}

/** The stock object, and which endpoints the model serves with which voices. */
export function renderModel({ id, modality, createdAtSeconds, voices }: ModelInfo) {
  return {
    id,
    object: "model",
    created: createdAtSeconds,
    owned_by: "framemill",
    endpoints: listModalities()
      .filter(({ name, modelsOf }) => (modelsOf ?? name) === modality)
      .map(({ endpoint }) => endpoint.path),
    ...(voices !== undefined && { voices }),
  };
}

export function getModel(models: readonly ModelInfo[], id: string): ModelInfo {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  throw new JobError("model_not_found", `no model has the id ${JSON.stringify(id.slice(0, 64))}`, {
    param: "model",
  });
}

/** The model that a body names, or the first where it may be left out. */
export function chooseModel(
  body: unknown,
  modality: Modality,
  models: readonly ModelInfo[],
): ModelInfo {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new JobError("invalid_value", "the body must be an object");
  }
  const id = "model" in body ? body.model : undefined;
  const serving = models.filter((known) => known.modality === (modality.modelsOf ?? modality.name));
  const [first] = serving;
  if (id === undefined || id === "") {
    if (modality.endpoint.modelOptional === true && first !== undefined) return first;
    throw new JobError("missing_required_parameter", "model is required", { param: "model" });
  }
  if (typeof id !== "string")
    throw new JobError("invalid_value", "model must be a string", { param: "model" });
  const model = serving.find((known) => known.id === id);
  if (model !== undefined) return model;
  throw new JobError("model_not_found", `no model ${JSON.stringify(id.slice(0, 64))} serves here`, {
    param: "model",
  });
}
