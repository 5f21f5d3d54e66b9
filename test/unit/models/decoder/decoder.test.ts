import { describe, expect, test } from "vitest";
import { createDecoder } from "#framemill/models/decoder/decoder.js";
import { readDecoderLayout } from "#framemill/models/decoder/decoder-layout.js";
import { createCache } from "#framemill/models/decoder/kv-cache.js";
import type { Alignment } from "#framemill/models/decoder/request/request.js";
import {
  float32,
  type TensorInfo,
  type Tensors,
  type TensorType,
} from "#framemill/runtime/tensors/tensor.js";
import { stubGraphs } from "../../../support/stub-graphs.js";

const PAST = ["b", 2, "p", 8];

function input(name: string, dims: readonly (number | string)[], type: TensorType = "int64") {
  return { name, type, dims } satisfies TensorInfo;
}

/** A decoder whose graph notes its feeds and answers with the numbers 0, 1, 2 … as logits. */
function createNotedDecoder(inputs: readonly TensorInfo[], logitDims: readonly number[]) {
  const noted: Tensors[] = [];
  const size = logitDims.reduce((product, dim) => product * dim, 1);
  const graphs = stubGraphs({}, async (_role, feeds, options) => {
    // The index arrays are reused by the next run.
    noted.push(structuredClone(feeds));
    const logits = float32(
      Float32Array.from({ length: size }, (_, index) => index),
      logitDims,
    );
    return options.fetch?.includes("logits") ? { logits } : {};
  });
  const past = input("past_key_values.0.key", PAST, "float32");
  const present = { ...past, name: "present.0.key" };
  const logits = input("logits", ["b", "s", 4], "float32");
  const info = { inputs: [...inputs, past], outputs: [logits, present] };
  const layout = readDecoderLayout(info, { inputs: {}, outputs: {} });
  return { decoder: createDecoder({ graphs, layout, firstPosition: 0 }), noted };
}

function read(feeds: Tensors | undefined, name: string) {
  const feed = feeds?.[name];
  if (feed === undefined) return feed;
  return { dims: feed.dims, values: Array.from(feed.data, Number), type: feed.type };
}

const IDS = input("input_ids", ["b", "s"]);
const MASK = input("attention_mask", ["b", "t"]);

const PAST_LAYER = {
  past: "past_key_values.0.key",
  present: "present.0.key",
  type: "float32",
  dims: ["batch", 2, "length", 8],
  batchAxis: 0,
  lengthAxis: 2,
  sharesBuffer: false,
} as const;

const open = (...lengths: readonly number[]) => createCache([PAST_LAYER], { lengths });

const step = (alignment: Alignment) =>
  ({ cache: open(1, 3), tokens: [8, 9], width: 1, alignment, wantsLogits: true }) as const;

describe("one run of a decoder", () => {
  test.each([
    ["end", [0, 0, 1, 1, 1, 1, 1, 1]],
    ["start", [1, 1, 0, 0, 1, 1, 1, 1]],
  ] as const)("masks what is no token of a row, with short rows at the %s", async (side, mask) => {
    const positions = input("position_ids", ["b", "s"]);
    const { decoder, noted } = createNotedDecoder([IDS, MASK, positions], [2, 1, 4]);
    const { cache, logits } = await decoder.forward(step(side));
    expect(read(noted[0], "input_ids")).toMatchObject({ dims: [2, 1], values: [8, 9] });
    expect(read(noted[0], "attention_mask")).toMatchObject({ dims: [2, 4], values: mask });
    expect(read(noted[0], "position_ids")).toMatchObject({ dims: [2, 1], values: [1, 3] });
    expect(read(noted[0], "past_key_values.0.key")).toMatchObject({ dims: [2, 2, 3, 8] });
    expect(cache).toMatchObject({ lengths: [2, 4], span: 4 });
    expect(cache.layers[0]?.past.dims).toEqual([2, 2, 4, 8]);
    expect(logits).toHaveLength(8);
  });

  test("speaks the older dialects: 32 bits, a branch flag, positions in three planes", async () => {
    const { decoder, noted } = createNotedDecoder(
      [
        input("input_ids", ["b", "s"], "int32"),
        input("position_ids", [3, "b", "s"]),
        input("token_type_ids", ["b", "s"]),
        input("num_logits_to_keep", []),
        input("use_cache_branch", [1], "bool"),
      ],
      [1, 1, 4],
    );
    const cache = open(0);
    const prompt = {
      cache,
      tokens: [5, 6],
      width: 2,
      alignment: "end",
      wantsLogits: true,
    } as const;
    const { cache: grown } = await decoder.forward(prompt);
    await decoder.forward({ ...prompt, cache: grown, tokens: [7], width: 1 });
    expect(read(noted[0], "input_ids")).toEqual({ dims: [1, 2], values: [5, 6], type: "int32" });
    expect(read(noted[0], "position_ids")).toMatchObject({
      dims: [3, 1, 2],
      values: [0, 1, 0, 1, 0, 1],
    });
    expect(read(noted[0], "token_type_ids")).toMatchObject({ values: [0, 0] });
    expect(read(noted[0], "num_logits_to_keep")).toMatchObject({ dims: [], values: [1] });
    expect(read(noted[0], "use_cache_branch")).toMatchObject({ values: [0] });
    expect(read(noted[1], "use_cache_branch")).toMatchObject({ values: [1] });
  });

  test("takes the last position's logits of each row, and none of a prompt's first parts", async () => {
    const { decoder, noted } = createNotedDecoder([IDS], [2, 3, 4]);
    const whole = { tokens: [1, 2, 3, 4, 5, 6], width: 3, alignment: "equal" } as const;
    const { logits } = await decoder.forward({ ...whole, cache: open(0, 0), wantsLogits: true });
    expect([...logits]).toEqual([8, 9, 10, 11, 20, 21, 22, 23]);
    const part = await decoder.forward({ ...whole, cache: open(0, 0), wantsLogits: false });
    expect(part.logits).toHaveLength(0);
    expect(noted).toHaveLength(2);
  });
});
