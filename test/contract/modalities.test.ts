import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { JobError } from "#framemill/core/errors.js";
import type { AdmitContext, JobView, Modality, ModelInfo } from "#framemill/core/modality.js";
import { findPrices, listPrices, tierOf } from "#framemill/core/prices.js";
import { priceOf, quote } from "#framemill/core/usage.js";
import { listModelPackages, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { listModalities } from "#framemill/modalities/registry.js";

const modelsDir = fileURLToPath(new URL("../../models", import.meta.url));
const packages = await listModelPackages(modelsDir);
const models = await Promise.all(packages.map(modelInfo));

/** What the front knows of a model where models/ has none of the kind yet. */
const anyModel = (modality: string): ModelInfo => ({
  id: `any-${modality}`,
  modality,
  createdAtSeconds: 0,
  concurrency: 1,
  contextTokens: 512,
  dimensions: 64,
  voices: ["anna"],
});

interface Trial {
  readonly model: ModelInfo;
  readonly context: AdmitContext;
  /** Inputs that were kept. */
  readonly saved: readonly Uint8Array[];
  readonly admit: () => Promise<unknown>;
}

/** A modality's example, admitted for a model of models/ or for one that could be there. */
function tryOut(modality: Modality): Trial {
  const served = modality.modelsOf ?? modality.name;
  const serves = modality.serves ?? (() => true);
  const model =
    models.find((known) => known.modality === served && serves(known)) ?? anyModel(served);
  const saved: Uint8Array[] = [];
  const context: AdmitContext = {
    model,
    path: modality.endpoint.path,
    saveInput: async (bytes, mediaType) => {
      saved.push(bytes);
      const byteLength = bytes.byteLength;
      return { id: "input", variant: "input", mediaType, byteLength, sha256: "" };
    },
    findEarlier: async () => undefined,
  };
  const admit = () => modality.admit({ model: model.id, ...modality.example() }, context);
  return { model, context, saved, admit };
}

describe.each(listModalities().map((modality) => ({ name: modality.name, modality })))(
  "the modality $name",
  ({ name, modality }) => {
    const { model, context, saved, admit } = tryOut(modality);

    test("has an endpoint of its own and describes its request and its answer", () => {
      const { path, idPrefix } = modality.endpoint;
      const others = listModalities().filter((other) => other !== modality);
      expect(others.map(({ endpoint }) => endpoint.path)).not.toContain(path);
      expect(others.map(({ endpoint }) => endpoint.idPrefix)).not.toContain(idPrefix);
      expect(modality.requestSchema()).toMatchObject({
        type: "object",
        required: expect.any(Array),
      });
      expect(modality.responseSchema ?? modality.eventSchema).toBeDefined();
    });

    test("names what is missing from an empty body, and stores nothing", async () => {
      const refusal = await modality.admit({}, context).catch((thrown: unknown) => thrown);
      expect(refusal).toBeInstanceOf(JobError);
      expect(refusal).toMatchObject({ code: "missing_required_parameter", httpStatus: 400 });
      expect(saved).toEqual([]);
    });

    test.each([null, 7, "text", [], [{}]])("refuses the body %j", async (body) => {
      await expect(modality.admit(body, context)).rejects.toMatchObject({ httpStatus: 400 });
    });

    test("refuses a parameter it does not know, by its name", async () => {
      const body = { model: model.id, ...modality.example(), surprise: 1 };
      await expect(modality.admit(body, context)).rejects.toMatchObject({
        code: "unknown_parameter",
        param: "surprise",
      });
    });

    test("admits a request that survives the queue and has a row in the price table", async () => {
      const request = await admit();
      const copy: unknown = JSON.parse(JSON.stringify(request));
      expect(copy).toEqual(request);
      const tier = tierOf(modality, request);
      const row = { modality: name, model: model.id, ...(tier !== undefined && { tier }) };
      const prices = findPrices(listPrices(listModalities()), row);
      const units = modality.mostUnits(request, model);
      expect(Object.values(units).every((count) => Number.isFinite(count) && count >= 0)).toBe(
        true,
      );
      expect(Number.isInteger(priceOf(prices, units))).toBe(true);
      // What is free has a row without prices.
      const isPriced = Object.keys(prices).length > 0;
      expect(priceOf(prices, units) > 0).toBe(isPriced);
    });

    test("answers its request, or has an object to poll", () => {
      const { delivery, isResource = false } = modality.endpoint;
      expect("answer" in modality).toBe(delivery === "reply");
      expect("render" in modality).toBe(delivery === "poll" || isResource);
    });
  },
);

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

const rendered = listModalities().filter((modality) => "render" in modality);

test.each(rendered)("$name renders what its own response schema describes", async (modality) => {
  const { model, admit } = tryOut(modality);
  const request = await admit();
  const view: JobView = {
    id: `${modality.endpoint.idPrefix}${"0".repeat(32)}`,
    model: model.id,
    serviceTier: "flex",
    state: "queued",
    request,
    progress: 0,
    stage: null,
    createdAtMs: 1_790_000_000_000,
    startedAtMs: null,
    completedAtMs: null,
    expiresAtMs: null,
    failure: null,
    queuePosition: 1,
    etaSeconds: null,
    quote: quote({}, modality.mostUnits(request, model)),
    chargedNanoUsd: null,
    usage: null,
    output: null,
  };
  const schema = z.fromJSONSchema(z.json().parse(modality.responseSchema?.()) as JsonSchema);
  expect(schema.parse(modality.render?.(view))).toBeDefined();
});

test.each([
  ["chat", { messages: [] }],
  ["chat", { messages: [{ role: "user", content: [{ type: "image_url", image_url: "a" }] }] }],
  ["completions", { prompt: [] }],
  ["completions", { suffix: "end" }],
  ["embeddings", { input: [] }],
  ["embeddings", { dimensions: 0 }],
  ["image", { prompt: " " }],
  ["image", { n: 11 }],
  ["moderation", { input: [] }],
  ["music", { seconds: 0 }],
  ["rerank", { query: "\n" }],
  ["responses", { input: [] }],
  ["speech", { input: "" }],
  ["video", { prompt: "" }],
  ["video", { seconds: 11 }],
  ["video", { image: 7 }],
])("%s describes as refused what it refuses: %j", async (name, fields) => {
  const modality = listModalities().find((one) => one.name === name);
  if (modality === undefined) throw new Error(`no modality ${name}`);
  const { context, model } = tryOut(modality);
  const example = { model: model.id, ...modality.example() };
  const schema = z.fromJSONSchema(z.json().parse(modality.requestSchema()) as JsonSchema);
  expect(schema.safeParse(example).success).toBe(true);
  expect(schema.safeParse({ ...example, ...fields }).success).toBe(false);
  await expect(modality.admit({ ...example, ...fields }, context)).rejects.toMatchObject({
    httpStatus: 400,
  });
});
