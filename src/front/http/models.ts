import { JobError } from "../../core/errors.js";
import type { Modality, ModelInfo } from "../../core/modality.js";
import { listModalities } from "../../modalities/registry.js";
import type { ModelList, ModelObject } from "./objects.js";

export function renderModels(models: readonly ModelInfo[]): ModelList {
  const data = models.flatMap((model) =>
    [model.id, ...aliasesOf(model)].map((id) => renderModel(model, id)),
  );
  return { object: "list", data };
}

/** The stock object by the name that it was asked by, which endpoints the model serves, and its bounds. */
export function renderModel(model: ModelInfo, id: string): ModelObject {
  const { createdAtSeconds, contextTokens, dimensions, tiers, voices } = model;
  return {
    id,
    object: "model",
    created: createdAtSeconds,
    owned_by: "framemill",
    endpoints: listModalities()
      .filter((modality) => isOf(model, modality) && canServe(model, modality))
      .map(({ endpoint }) => endpoint.path),
    ...(contextTokens !== undefined && { context_length: contextTokens }),
    ...(dimensions !== undefined && { dimensions }),
    ...(tiers !== undefined && { tiers: [...tiers] }),
    ...(voices !== undefined && { voices: [...voices] }),
  };
}

/** By its id, or by a name that stands for it. */
export function getModel(models: readonly ModelInfo[], id: string): ModelInfo {
  const model = models.find((candidate) => isNamed(candidate, id));
  if (model !== undefined) return model;
  throw new JobError("model_not_found", `no model has the id ${JSON.stringify(id.slice(0, 64))}`, {
    param: "model",
  });
}

/** Most models that a refusal lists. */
const MOST_LISTED = 10;

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
  const serving = models.filter((known) => isOf(known, modality));
  if ((id ?? "") === "") return firstModel(serving, modality);
  if (typeof id !== "string")
    throw new JobError("invalid_value", "model must be a string", { param: "model" });
  const model = serving.find((known) => isNamed(known, id));
  if (model !== undefined) return model;
  const others = serving.slice(0, MOST_LISTED).map((known) => known.id);
  const refused = `no model ${JSON.stringify(id.slice(0, 64))} serves ${modality.endpoint.path}`;
  const message = `${refused}; these do: ${others.join(", ") || "none"}`;
  throw new JobError("model_not_found", message, { param: "model" });
}

function isOf(model: ModelInfo, { name, modelsOf }: Modality): boolean {
  return model.modality === (modelsOf ?? name);
}

function canServe(model: ModelInfo, { serves }: Modality): boolean {
  return serves?.(model) ?? true;
}

function firstModel(serving: readonly ModelInfo[], modality: Modality): ModelInfo {
  const first = serving.find((known) => canServe(known, modality)) ?? serving[0];
  if (modality.endpoint.modelOptional === true && first !== undefined) return first;
  throw new JobError("missing_required_parameter", "model is required", { param: "model" });
}

/** The same models with the names that stand for them. Throws where one is taken, or stands for none. */
export function withAliases(
  models: readonly ModelInfo[],
  aliases: ReadonlyMap<string, string>,
): ModelInfo[] {
  for (const [alias, id] of aliases) {
    if (models.some((model) => model.id === alias))
      throw new Error(`MODEL_ALIASES gives a name that a model has: ${alias}`);
    if (!models.some((model) => model.id === id))
      throw new Error(`MODEL_ALIASES names ${id}, which is no model of this front`);
  }
  return models.map((model) => {
    const own = [...aliases].filter(([, id]) => id === model.id).map(([alias]) => alias);
    return own.length === 0 ? model : { ...model, aliases: own };
  });
}

function aliasesOf({ aliases = [] }: ModelInfo): readonly string[] {
  return aliases;
}

function isNamed(model: ModelInfo, id: string): boolean {
  return model.id === id || aliasesOf(model).includes(id);
}
