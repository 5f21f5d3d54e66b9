import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelInfo } from "#framemill/core/modality.js";
import { listModalities } from "#framemill/modalities/registry.js";

const schema = z.object({ properties: z.record(z.string(), z.unknown()) });
const model: ModelInfo = { id: "model", modality: "any", createdAtSeconds: 0, concurrency: 1 };

test.each(listModalities().map((modality) => [modality.name, modality] as const))(
  "null is not given, in every optional field of %s",
  async (_name, modality) => {
    const { properties } = schema.parse(modality.requestSchema());
    const given = {
      ...modality.example(model),
      model: model.id,
    };
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
    const saved = {
      id: "input",
      variant: "input",
      mediaType: "audio/wav",
      byteLength: 1,
      sha256: "",
    };
    const context = {
      model,
      path: modality.endpoint.path,
      saveInput: async () => saved,
      findEarlier: async () => undefined,
    };
    // A seed that is not given is drawn.
    const admit = async (body: object) =>
      Object.assign({}, await modality.admit(body, context), { seed: 0 });
    expect(properties).toHaveProperty("model");
    expect(await admit({ ...nulls, ...given })).toEqual(await admit(given));
  },
);
