import { randomFillSync } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createFileChecker, hashFile } from "#framemill/runtime/packages/checked-files.js";
import { externaliseWeights } from "#framemill/runtime/packages/externalise.js";
import { useGraphCache } from "#framemill/runtime/ort/graph-cache.js";
import { openGraphs, openGraphsSoon } from "#framemill/runtime/ort/graphs.js";
import { readOnnxOutline } from "#framemill/runtime/onnx/onnx-outline.js";
import { createInferenceProcess } from "#framemill/runtime/process/process.js";
import { writeOnnx } from "../../support/onnx.js";

const root = mkdtempSync(join(tmpdir(), "model-placement-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = () => mkdtempSync(join(root, "case-"));

const SIDE = 64;
/** Two matrices of 64 × this, float32, are 70 MB. */
const WIDE = 137_000;
const input = {
  type: "float32",
  data: Float32Array.from({ length: 2 * SIDE }, (_, at) => Math.sin(at)),
  dims: [2, SIDE],
} as const;

/** y = tanh(x · w) · v with random weights, of `width` × 256 bytes each. */
function writeNetwork(path: string, width = SIDE): void {
  const weights = (name: string, ...dims: readonly [number, number]) => {
    const data = new Float32Array(dims[0] * dims[1]);
    const bytes = randomFillSync(new Uint8Array(data.length));
    bytes.forEach((byte, at) => (data[at] = byte / 1_000 - 0.1));
    return { name, dims, data_type: 1, raw_data: Buffer.from(data.buffer) };
  };
  const dim = [{ dim_param: "batch" }, { dim_value: SIDE }];
  writeOnnx(path, {
    outputs: [],
    inputType: { tensor_type: { elem_type: 1, shape: { dim } } },
    initializers: [weights("w", SIDE, width), weights("v", width, SIDE)],
    nodes: [
      { input: ["x", "w"], output: ["a"], op_type: "MatMul" },
      { input: ["a"], output: ["b"], op_type: "Tanh" },
      { input: ["b", "v"], output: ["y"], op_type: "MatMul" },
    ],
    outputValues: ["y"],
  });
}

async function runNetwork(path: string) {
  const graphs = await openGraphs({ graphs: { net: path }, threads: 1, providers: ["cpu"] });
  try {
    return (await graphs.run("net", { x: input }))["y"]?.data;
  } finally {
    await graphs.close();
  }
}

test("weights that were put beside a graph give the same numbers, bit for bit", async () => {
  const at = folder();
  const [inline, graph, weights] = ["net.onnx", "out.onnx", "out.onnx.data"].map((name) =>
    join(at, name),
  ) as [string, string, string];
  writeNetwork(inline);
  expect(externaliseWeights(inline, graph, weights)).toEqual({
    tensors: 2,
    byteLength: 4 * 2 * SIDE * SIDE,
  });
  expect(
    readOnnxOutline(graph).externalTensors.map(({ name, location }) => [name, location]),
  ).toEqual([
    ["w", "out.onnx.data"],
    ["v", "out.onnx.data"],
  ]);
  expect(statSync(graph).size).toBeLessThan(1_000);
  const numbers = await runNetwork(inline);
  expect([...(numbers ?? [])].every((number) => Math.abs(Number(number)) > 0)).toBe(true);
  expect(await runNetwork(graph)).toEqual(numbers);
});

describe("a graph whose weights are large and lie beside it", () => {
  const names = ["net.onnx", "net.onnx.data"] as const;
  const write = () => {
    const at = folder();
    writeNetwork(join(at, "inline.onnx"), WIDE);
    externaliseWeights(join(at, "inline.onnx"), join(at, names[0]), join(at, names[1]));
    rmSync(join(at, "inline.onnx"));
    return at;
  };
  const open = (at: string) =>
    openGraphsSoon({ graphs: { net: join(at, names[0]) }, threads: 1, providers: ["cpu"] });
  const numbersOf = async (lanes: Awaited<ReturnType<typeof open>>) =>
    Array.from((await lanes.run("net", { x: input }))["y"]?.data ?? [], Number);
  const distance = (actual: readonly number[], expected: readonly number[]) =>
    Math.max(...actual.map((number, at) => Math.abs(number - (expected[at] ?? Number.NaN))));

  test("serves at once, and then from packed weights", async () => {
    const [at, other] = [write(), write()];
    const lanes = await open(at);
    // What opens from now on is another graph: its numbers tell who answers.
    for (const name of names) renameSync(join(other, name), join(at, name));
    const first = await numbersOf(lanes);
    let later = first;
    while (distance(later, first) === 0) later = await numbersOf(lanes);
    await lanes.close();
    const second = await open(at);
    expect(distance(await numbersOf(second), later)).toBeLessThan(1e-3);
    await second.close();
  });

  test("goes on serving where packing fails, and says so", async () => {
    const at = write();
    const lanes = await open(at);
    for (const name of names) rmSync(join(at, name));
    const warned = once(process, "warning");
    const first = await numbersOf(lanes);
    expect(String((await warned)[0])).toMatch(/without packed weights: the graph net .*net\.onnx/);
    expect(await numbersOf(lanes)).toEqual(first);
    await lanes.close();
  });
});

test("an optimised graph is kept, used, and made again where its bytes are not what they were", async () => {
  const at = folder();
  const cache = folder();
  const path = join(at, "net.onnx");
  writeNetwork(path);
  const plain = await runNetwork(path);
  useGraphCache(cache);
  try {
    expect(await runNetwork(path)).toEqual(plain);
    const [kept = "", ...more] = readdirSync(cache);
    expect(more).toEqual([]);
    truncateSync(join(cache, kept), 100);
    expect(await runNetwork(path)).toEqual(plain);
    expect(await hashFile(join(cache, kept))).toBe(kept.split(".")[1]);
    // Another graph's optimised form in its place gives the other's numbers: it is what runs.
    const otherPath = join(at, "other.onnx");
    writeNetwork(otherPath);
    const other = await runNetwork(otherPath);
    const otherKept = readdirSync(cache).find((name) => name !== kept) ?? "";
    renameSync(
      join(cache, otherKept),
      join(cache, `${kept.split(".")[0]}.${otherKept.split(".")[1]}.onnx`),
    );
    rmSync(join(cache, kept));
    expect(other).not.toEqual(plain);
    expect(await runNetwork(path)).toEqual(other);
  } finally {
    useGraphCache(undefined);
  }
});

test("a checked file is not read again until it changes, and then found out", async () => {
  const at = folder();
  const path = join(at, "weights");
  writeFileSync(path, Buffer.alloc(1_000, 1));
  const stated = { path, sha256: await hashFile(path), byteLength: 1_000 };
  // A file is only remembered when it was left alone for two seconds.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_000 });
  const first = await createFileChecker(at);
  await first.check(stated);
  await first.save();
  const later = await createFileChecker(at);
  await later.check(stated);
  vi.useRealTimers();
  const { atime, mtime, ctimeMs } = statSync(path);
  // Until the file system's clock has ticked.
  while (statSync(path).ctimeMs === ctimeMs) writeFileSync(path, Buffer.alloc(1_000, 2));
  utimesSync(path, atime, mtime);
  await expect(later.check(stated)).rejects.toThrow(/weights must hash to/);
});

const entryPath = fileURLToPath(new URL("../../fixtures/inference/entry.mjs", import.meta.url));

describe("an inference process with a memory budget", () => {
  const lines: string[] = [];
  const log = {
    info: (fields: { model?: string }, text: string) =>
      void (fields.model && lines.push(`${text} ${fields.model}`)),
    error() {},
  };
  const open = (modelPaths: readonly string[], modelMemoryBytes: number) =>
    createInferenceProcess({
      entryPath,
      setup: {
        modelPaths,
        threads: 1,
        ffmpegPath: "",
        ffprobePath: "",
        espeakPath: "",
        modelMemoryBytes,
      },
      stallMs: 60_000,
      cancelMs: 60_000,
      log,
    });
  const packageOf = async (id: string) => {
    const at = folder();
    copyFileSync(entryPath, join(at, "graph"));
    const { size: byteLength } = statSync(entryPath);
    const graph = { path: "graph", sha256: await hashFile(entryPath), byteLength };
    const rest = {
      pipeline: "toy",
      execution: { providers: ["cpu"] },
      shapes: {},
      limits: {},
      licence: "",
      source: "",
      card: "",
    };
    writeFileSync(
      join(at, "model.json"),
      JSON.stringify({ id, modality: "toy", files: { graph }, memory: { resident: 600 }, ...rest }),
    );
    return at;
  };

  test("serves more models than fit, and refuses one that never will", async () => {
    const paths = await Promise.all(["a", "b"].map(packageOf));
    const host = open(paths, 1_000);
    const { signal } = new AbortController();
    const run = async (model: string) => {
      const job = {
        id: `job-${model}`,
        modality: "toy",
        model,
        request: { does: "finish" },
        expiresAtMs: 0,
        reportTo: "",
      };
      const events = [];
      for await (const event of host.run(
        { job, scratchPath: root, readInput: async () => new Uint8Array() },
        signal,
      ))
        events.push(event.type);
      return events;
    };
    try {
      expect(await Promise.all([run("a"), run("b")])).toEqual([
        ["progress", "output"],
        ["progress", "output"],
      ]);
      expect(await run("a")).toEqual(["progress", "output"]);
    } finally {
      await host.close();
    }
    expect(lines).toEqual(
      ["a", "b", "a"].flatMap((id, at) =>
        at === 0
          ? [`model loaded ${id}`]
          : [`model unloaded ${id === "a" ? "b" : "a"}`, `model loaded ${id}`],
      ),
    );
    const refused = open(paths, 500);
    await expect(refused.ready()).rejects.toThrow(
      "a needs 600 bytes, MODEL_MEMORY_BYTES allows 500",
    );
    await refused.close();
  });
});
