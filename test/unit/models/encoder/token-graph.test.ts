import { describe, expect, test } from "vitest";
import { createTokenGraph } from "#framemill/models/encoder/token-graph.js";
import type { TensorInfo } from "#framemill/runtime/tensors/tensor.js";

const input = (name: string, dims: TensorInfo["dims"], type: TensorInfo["type"] = "int64") => ({
  name,
  type,
  dims,
});
const options = { role: "encoder", padId: 9, maxPadded: 64 };
const sequences = [
  { ids: Int32Array.of(1, 2, 3), typeIds: Uint8Array.of(0, 1, 1), length: 3 },
  { ids: Int32Array.of(4), typeIds: null, length: 1 },
];

describe("a batch of tokens", () => {
  test("is padded on the right, in the graph's own types, with what it declares", () => {
    const free = ["batch", "sequence"];
    const inputs = [
      input("input_ids", free),
      input("attention_mask", free, "int32"),
      input("token_type_ids", free),
      input("position_ids", free),
    ];
    const { feeds } = createTokenGraph({ inputs, outputs: [] }, options).pack(sequences);
    const read = (name: string) => [...(feeds[name]?.data ?? [])].map(Number);
    expect(read("input_ids")).toEqual([1, 2, 3, 4, 9, 9]);
    expect(read("attention_mask")).toEqual([1, 1, 1, 1, 0, 0]);
    expect(read("token_type_ids")).toEqual([0, 1, 1, 0, 0, 0]);
    expect(read("position_ids")).toEqual([0, 1, 2, 0, 1, 1]);
    expect(feeds["input_ids"]).toMatchObject({ type: "int64", dims: [2, 3] });
    expect(feeds["attention_mask"]).toMatchObject({ type: "int32", dims: [2, 3] });
  });

  test("fills the shape of a graph that has a fixed one", () => {
    const inputs = [input("input_ids", [4, 8])];
    const graph = createTokenGraph({ inputs, outputs: [] }, options);
    expect(graph).toMatchObject({ maxLength: 8, limits: { maxRows: 4, equalLengths: true } });
    expect(graph.pack(sequences).feeds["input_ids"]?.dims).toEqual([4, 8]);
  });

  test("gives a decoder that serves as an encoder empty caches, and names what it cannot give", () => {
    const past = input("past_key_values.0.key", ["batch", 2, "past", 16], "float16");
    const inputs = [input("input_ids", ["batch", "sequence"]), past];
    const { feeds } = createTokenGraph({ inputs, outputs: [] }, options).pack(sequences);
    expect(feeds[past.name]?.dims).toEqual([2, 2, 0, 16]);
    const wrong = { inputs: [...inputs, input("task_id", [])], outputs: [] };
    expect(() => createTokenGraph(wrong, options)).toThrow("wants the input task_id");
  });
});
