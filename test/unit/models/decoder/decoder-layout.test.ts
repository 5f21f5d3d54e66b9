import { describe, expect, test } from "vitest";
import { readDecoderLayout, requireCaches } from "#framemill/models/decoder/decoder-layout.js";
import type { TensorInfo, TensorType } from "#framemill/runtime/tensors/tensor.js";

const NAMES = { inputs: {}, outputs: {} };
const LOGITS = tensor("logits", ["batch_size", "sequence_length", 512]);
const IDS = tensor("input_ids", ["batch_size", "sequence_length"], "int64");

function tensor(
  name: string,
  dims: readonly (number | string)[],
  type: TensorType = "float32",
): TensorInfo {
  return { name, type, dims };
}

function cachesOf(pairs: readonly (readonly [string, string])[], dims: (number | string)[]) {
  const inputs = [IDS, ...pairs.map(([past]) => tensor(past, dims))];
  const outputs = [LOGITS, ...pairs.map(([, present]) => tensor(present, dims))];
  return readDecoderLayout({ inputs, outputs }, NAMES).caches;
}

describe("a decoder graph", () => {
  test("pairs what it reads with what it writes, in every dialect", () => {
    const pairs = [
      ["past_key_values.0.key", "present.0.key"],
      ["past_conv.1", "present_conv.1"],
      ["past_recurrent.2", "present_recurrent.2"],
      ["past_ssm.3", "present_ssm.3"],
      ["past_4", "present_4"],
    ] as const;
    const caches = cachesOf(pairs, ["batch_size", 2, "past_sequence_length", 8]);
    expect(caches.map(({ past, present }) => [past, present])).toEqual(pairs);
  });

  test("takes names from the templates of genai_config.json", () => {
    const names = {
      inputs: { input_ids: "ids", past_key_names: "k_in_%d" },
      outputs: { logits: "scores", present_key_names: "k_out_%d" },
    };
    const dims = ["b", 2, "p", 8];
    const layout = readDecoderLayout(
      {
        inputs: [tensor("ids", ["b", "s"], "int32"), tensor("k_in_11", dims)],
        outputs: [tensor("scores", ["b", "s", -1]), tensor("k_out_11", dims)],
      },
      names,
    );
    expect(layout.inputIds).toEqual({ name: "ids", type: "int32", rank: 2 });
    expect(layout.caches).toMatchObject([{ past: "k_in_11", present: "k_out_11" }]);
    expect(layout.vocabSize).toBeUndefined();
  });

  test.each([
    [["batch_size", 2, "past_sequence_length", 8], 0, 2],
    [[2, "batch_size", 4, "past_sequence_length", 8], 1, 3],
    [["batch_size", "past_sequence_length", 64], 0, 1],
    [["batch_size", 64, 4], 0, null],
    [[-1, 4, -1, 8], 0, 2],
  ])("finds rows and tokens in %j", (dims, batchAxis, lengthAxis) => {
    const [cache] = cachesOf([["past_0", "present_0"]], dims);
    expect(cache).toMatchObject({ batchAxis, lengthAxis });
  });

  test("takes a head's size from the configuration where GenAI's builder leaves it free", () => {
    const dims = ["batch_size", 3, "past_sequence_length", "kv_cache_dim"];
    const past = tensor("past_key_values.0.key", dims);
    const graph = { inputs: [IDS, past], outputs: [LOGITS, tensor("present.0.key", dims)] };
    expect(readDecoderLayout(graph, NAMES, { headSize: 64 }).caches).toMatchObject([
      { dims: ["batch", 3, "length", 64], batchAxis: 0, lengthAxis: 2 },
    ]);
    expect(() => readDecoderLayout(graph, NAMES)).toThrow(/kv_cache_dim/);
  });

  test("refuses an input that it cannot fill, by name", () => {
    const inputs = [
      IDS,
      tensor("pixel_values", ["b", 3, 8, 8]),
      tensor("past_0", ["b", 1, "p", 8]),
    ];
    const outputs = [LOGITS, tensor("present_0", ["b", 1, "p", 8])];
    expect(() => readDecoderLayout({ inputs, outputs }, NAMES)).toThrow(/pixel_values/);
  });

  test("takes what another graph makes of tokens", () => {
    const embedder = { inputs: [IDS], outputs: [tensor("inputs_embeds", ["b", "s", 8])] };
    const inputs = [tensor("inputs_embeds", ["b", "s", 8])];
    const layout = readDecoderLayout({ inputs, outputs: [LOGITS] }, NAMES, { embedder });
    expect(layout).toMatchObject({ inputIds: { name: IDS.name }, embedded: ["inputs_embeds"] });
    expect(() => readDecoderLayout({ inputs, outputs: [LOGITS] }, NAMES)).toThrow(/input_ids/);
  });

  test("without caches reads, and cannot write", () => {
    const layout = readDecoderLayout({ inputs: [IDS], outputs: [LOGITS] }, NAMES);
    expect(() => requireCaches(layout)).toThrow(/a decoder needs caches/);
  });
});
