import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { readDecoderConfig } from "#framemill/models/decoder/settings.js";
import { tokenizer } from "./fake-decoder.js";

const root = mkdtempSync(join(tmpdir(), "framemill-decoder-config-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A package whose files hold these contents, by role. */
function packageOf(contents: Readonly<Record<string, object | string>>): ModelPackage {
  const files = Object.entries(contents).map(([role, content]) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(join(root, `${role}.json`), text);
    return [role, { path: `${role}.json`, sha256: "", byteLength: text.length }] as const;
  });
  return {
    id: "test",
    modality: "chat",
    pipeline: "decoder-text",
    path: root,
    files: Object.fromEntries(files),
    execution: { providers: ["cpu"], concurrency: 1 },
    shapes: {},
    limits: {},
    memory: null,
    licence: "MIT",
    source: "a test",
    card: "README.md",
  };
}

const read = (contents: Readonly<Record<string, object | string>>) =>
  readDecoderConfig(packageOf(contents), tokenizer);

describe("a decoder's configuration", () => {
  test("ends at what generation_config.json says, however it is written", async () => {
    const config = { model_type: "qwen3", eos_token_id: 9, max_position_embeddings: 100 };
    const generation = { eos_token_id: [4, 5], repetition_penalty: 1.1 };
    expect(await read({ config, "generation-config": generation })).toMatchObject({
      stopTokenIds: [4, 5],
      contextTokens: 100,
      repetitionPenalty: 1.1,
      firstPosition: 0,
    });
    expect(await read({ config })).toMatchObject({ stopTokenIds: [9], repetitionPenalty: 1 });
  });

  test("looks for a multimodal model's decoder under text_config", async () => {
    const config = {
      model_type: "gemma3",
      text_config: { eos_token_id: 3, max_position_embeddings: 77 },
    };
    expect(await read({ config })).toMatchObject({
      stopTokenIds: [3],
      contextTokens: 77,
      firstPosition: 1,
    });
  });

  test("reads genai_config.json with its names of tensors", async () => {
    const decoder = { inputs: { input_ids: "ids" }, outputs: { logits: "scores" } };
    const config = { model: { type: "phi3", context_length: 64, eos_token_id: [1, 2], decoder } };
    expect(await read({ config })).toMatchObject({
      stopTokenIds: [1, 2],
      contextTokens: 64,
      names: decoder,
    });
  });

  test.each([
    [{ model_type: "phi3", original_max_position_embeddings: 4_096, rope_scaling: { type: "su" } }],
    [
      {
        model_type: "phi3",
        rope_parameters: { rope_type: "longrope", original_max_position_embeddings: 4_096 },
      },
    ],
    [{ model: { type: "phi3", context_length: 131_072, decoder: {} } }],
  ])(
    "is bounded where a longer prompt would be read by other factors than its cache: %j",
    async (more) => {
      const config = { max_position_embeddings: 131_072, ...more };
      expect(await read({ config })).toMatchObject({ contextTokens: 4_096 });
    },
  );

  test.each([
    ["{", /config\.json is not JSON/],
    [{ eos_token_id: "end" }, /config\.json: eos_token_id/],
    [{ model: {} }, /config\.json: model\.decoder/],
  ])("names the file and the field that is wrong in %j", async (config, message) => {
    await expect(read({ config })).rejects.toThrow(message);
  });
});
