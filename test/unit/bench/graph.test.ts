import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { benchGraph, openBenchGraph, saveOutputs } from "#framemill/bench/graph/graph.js";
import { castTensor, floatsOf } from "#framemill/runtime/tensors/tensor.js";

const path = fileURLToPath(new URL("../../../models/service-embed-1/model.onnx", import.meta.url));
const dims = { rows: 1, length: 3 };
const options = { path, provider: "cpu", threads: 1, dims, seed: 1 };

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-graph-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** The vector of a graph that is fed these tokens from files, and what it wrote down. */
async function vectorOf(tokens: readonly number[]) {
  const ids = { type: "int64" as const, data: BigInt64Array.from(tokens, BigInt), dims: [1, 3] };
  const ones = castTensor({ ...ids, data: BigInt64Array.of(1n, 1n, 1n) }, "int64");
  const zeros = { ...ones, data: new BigInt64Array(3) };
  const feeds = { input_ids: ids, attention_mask: ones, token_type_ids: zeros };
  await saveOutputs(feeds, folder);
  const graph = await openBenchGraph({ ...options, feedsPath: folder });
  try {
    const { outputs } = await graph.runReturned();
    await saveOutputs(outputs, folder);
    const bytes = await readFile(join(folder, "sentence_embedding.bin"));
    const written = new Float32Array(Uint8Array.from(bytes).buffer);
    return { vector: floatsOf(outputs, "sentence_embedding"), written };
  } finally {
    await graph.close();
  }
}

describe("a benchmark of one graph", () => {
  test("times both ways of running it, a figure a round", async () => {
    const { distributions = [], conditions } = await benchGraph(options, 2);
    expect(conditions).toMatchObject({ provider: "cpu", dims: "rows 1, length 3" });
    expect(distributions.map(({ what, count }) => [what, count])).toEqual([
      ["load", 1],
      ["first run", 1],
      ["run, nothing crosses", 2],
      ["run, outputs kept", 2],
      ["run, outputs returned", 2],
    ]);
    for (const { p50, p99 } of distributions) {
      expect(p50).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    }
  });

  test("feeds what the files hold, and writes down what the graph gave", async () => {
    const [first, again, other] = [
      await vectorOf([2, 40, 3]),
      await vectorOf([2, 40, 3]),
      await vectorOf([2, 50, 3]),
    ];
    expect(first.written).toEqual(first.vector);
    expect(again.vector).toEqual(first.vector);
    expect(other.vector).not.toEqual(first.vector);
  });

  test("names the free dimension that has no size, and the file that does not fit", async () => {
    await expect(openBenchGraph({ ...options, dims: { rows: 1 } })).rejects.toThrow(
      "has the free dimension length: give --dims length=SIZE",
    );
    await writeFile(join(folder, "input_ids.bin"), new Uint8Array(16));
    await expect(openBenchGraph({ ...options, feedsPath: folder })).rejects.toThrow(
      /input_ids\.bin holds 2 values of int64, the graph takes \[1, 3\]/,
    );
  });

  test("ends with the provider's reason where it is of no use", async () => {
    await expect(openBenchGraph({ ...options, provider: "tensorrt" })).rejects.toThrow(
      /PROVIDERS asks for tensorrt, which does not run here: .+/,
    );
  });
});
