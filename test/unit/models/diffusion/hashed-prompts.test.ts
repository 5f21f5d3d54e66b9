import { readFileSync } from "node:fs";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { stubGraphs } from "../../../support/stub-graphs.js";
import { float32, type Tensor, type Tensors } from "#framemill/runtime/tensors/tensor.js";
import { findArchitecture } from "#framemill/models/image-model.js";
import { openHashedPrompts } from "#framemill/models/diffusion/prompt-encoders.js";
import { modelManifest } from "../../../support/model-manifest.js";

const tokenizer = { kind: "hashed-ngram", buckets: 8192, words: 4, idsPerWord: 10, gram: 4 };

function open(settings: unknown, unknown: Tensors = {}) {
  const fed: Tensors[] = [];
  const sessions = stubGraphs({}, async (_role, feeds) => {
    fed.push(feeds);
    return { last_hidden_state: float32(new Float32Array(6), [1, 2, 3]), ...unknown };
  });
  const manifest = { id: "scenes", modality: "image", pipeline: "diffusion-image" };
  const model = { ...modelManifest({ ...manifest, tokenizer: settings }), path: "/models/scenes" };
  return {
    fed,
    encoders: openHashedPrompts({ model, sessions, promptTokens: 77, contextFeatures: 3 }),
  };
}

describe("prompts of hashed words", () => {
  test("are read by the encoder as ids of each word", async () => {
    const { fed, encoders } = open(tokenizer);
    const states = await encoders?.run("text-encoder", "a red boat", ["last"]);
    expect(states?.last.dims).toEqual([1, 2, 3]);
    const ids = fed[0]?.["input_ids"] as Tensor;
    expect(ids.dims).toEqual([1, 4, 10]);
    const words = [0, 1, 2, 3].map((word) => Number(ids.data[word * 10]) > 0);
    expect(words).toEqual([true, true, true, false]);
  });

  test("of the starters leave out how a picture is asked for", async () => {
    const manifest = new URL("../../../../models/service-image-1/model.json", import.meta.url);
    const starter = z
      .object({ tokenizer: z.unknown() })
      .parse(JSON.parse(readFileSync(manifest, "utf8")));
    const { fed, encoders } = open(starter.tokenizer);
    await encoders?.run("text-encoder", "a red boat in the rain", ["last"]);
    for (const asked of [
      "Could you please draw me a red boat in the rain?",
      "I’d like a beautiful picture of a red boat in the rain, highly detailed, 4K",
      "Make a video showing a red boat in the rain",
    ])
      await encoders?.run("text-encoder", asked, ["last"]);
    const [plain, ...rest] = fed.map((feeds) => feeds["input_ids"]);
    expect(rest).toEqual([plain, plain, plain]);
  });

  test("count their words, no more than are read", () => {
    const { encoders } = open(tokenizer);
    expect(encoders?.count("a red boat")).toBe(3);
    expect(encoders?.count("one two three four five")).toBe(4);
    expect(encoders?.count("")).toBe(0);
    expect(encoders?.promptTokens).toBe(4);
  });

  test("say which of their slots are not of the model's world", async () => {
    const likelihood = (value: number) => float32(Float32Array.of(value), [1]);
    const notes = async (outputs: Tensors) =>
      await open(tokenizer, outputs).encoders?.notes("a day");
    const outputs = { unknown_subject: likelihood(0.9), unknown_setting: likelihood(0.2) };
    expect(await notes(outputs)).toEqual([expect.stringContaining("no subject")]);
    expect(await notes({ unknown_setting: likelihood(0.6) })).toEqual([
      expect.stringContaining("no setting"),
    ]);
    expect(await notes({})).toEqual([]);
  });

  test("have last states only, of one encoder", async () => {
    const { encoders } = open(tokenizer);
    await expect(encoders?.run("text-encoder", "a boat", ["pooled"])).rejects.toThrow(
      "last states",
    );
    await expect(encoders?.run("text-encoder-2", "a boat", ["last"])).rejects.toThrow(
      "last states",
    );
    expect(encoders?.has("text-encoder-2")).toBe(false);
  });

  test("are for packages that say so", () => {
    expect(open(undefined).encoders).toBeUndefined();
  });
});

describe("scenes as vectors", () => {
  test("the denoiser hears the size of the picture as SDXL's does", () => {
    const family = findArchitecture("VectorScenePipeline");
    const given = { width: 1536, height: 1024, rows: 1, columns: 1, guidance: 2, contextTokens: 8 };
    expect(family.constants(given).timeIds?.data).toEqual(
      Float32Array.from([1024, 1536, 0, 0, 1024, 1536]),
    );
    expect(family.packing).toBe("vector");
  });
});
