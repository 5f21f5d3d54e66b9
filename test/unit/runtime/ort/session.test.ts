import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostMemory } from "#framemill/runtime/ort/host-memory.js";
import { Session } from "#framemill/runtime/ort/session.js";
import { openValues, Value } from "#framemill/runtime/ort/value.js";
import { float32 } from "#framemill/runtime/tensors/tensor.js";
import { Graph } from "../../../support/onnx.js";

const root = mkdtempSync(join(tmpdir(), "ort-session-"));
const CPU = { providers: ["cpu"], threads: 1 };
const SIDE = 512;
let append: Session;
let long: Session;
let openBefore: number;

beforeEach(() => void (openBefore = openValues()));
beforeAll(async () => {
  append = await Session.open(writeAppend(), CPU);
  long = await Session.open(writeLong(), { ...CPU, threads: 2 });
});
afterAll(async () => {
  await append.close();
  await long.close();
  rmSync(root, { recursive: true });
});

/** `grown` is `past` with `x` behind it, and `sum` all of its numbers together. */
function writeAppend(): string {
  const graph = new Graph();
  graph.input("past", "float32", ["old"]);
  graph.input("x", "float32", ["new"]);
  graph.node("Concat", ["past", "x"], { axis: 0 }, { outputs: ["grown"] });
  graph.output("grown", "float32", ["all"]);
  graph.output("sum", "float32", [], graph.node("ReduceSum", ["grown"], { keepdims: 0 }));
  const path = join(root, "append.onnx");
  graph.write(path);
  return path;
}

/** 200 multiplications of matrices, one after the other: some seconds. */
function writeLong(): string {
  const graph = new Graph();
  let last = graph.input("x", "float32", [SIDE, SIDE]);
  const weights = graph.floats([SIDE, SIDE], (index) => Math.sin(index) / SIDE);
  for (let layer = 0; layer < 200; layer += 1) last = graph.node("MatMul", [last, weights]);
  graph.output("y", "float32", [SIDE, SIDE], last);
  const path = join(root, "long.onnx");
  graph.write(path);
  return path;
}

const vector = (...list: readonly number[]) => float32(Float32Array.from(list), [list.length]);
const square = () => float32(new Float32Array(SIDE * SIDE).fill(1), [SIDE, SIDE]);

function numbers(value: Value | undefined): number[] {
  const read = Array.from(value?.read().data ?? [], Number);
  value?.close();
  return read;
}

describe("a run", () => {
  test("gives what is fetched, keeps what is kept, and writes into what is given", async () => {
    const { sum } = await append.run({ past: vector(1), x: vector(2, 3) }, { fetch: ["sum"] });
    expect([sum?.dims, numbers(sum)]).toEqual([[], [6]]);
    const first = await append.run({ past: vector(), x: vector(4) }, { keep: ["grown"] });
    const into = Value.zeros("float32", [3]);
    const past = first["grown"] ?? into;
    expect(await append.run({ past, x: vector(5, 6) }, { into: { grown: into } })).toEqual({});
    past.close();
    expect(numbers(into)).toEqual([4, 5, 6]);
    expect(openValues()).toBe(openBefore);
  });

  test("takes tensors in the type that the graph declares", async () => {
    const whole = { type: "int64", data: BigInt64Array.of(7n), dims: [1] } as const;
    const { sum } = await append.run({ past: whole, x: vector(1) }, { fetch: ["sum"] });
    expect(numbers(sum)).toEqual([8]);
  });

  test("may be under way several times at once", async () => {
    const sums = Array.from({ length: 20 }, async (_, at) => {
      return (await append.run({ past: vector(at), x: vector(1) }, { fetch: ["sum"] }))["sum"];
    });
    const found = (await Promise.all(sums)).flatMap(numbers);
    expect(found).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });

  test("ends amid its work when it is aborted, and the graph serves on", async () => {
    const abort = new AbortController();
    const running = long.run({ x: square() }, { fetch: ["y"] }, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error("not wanted any more")), 50);
    await expect(running).rejects.toThrow("not wanted any more");
    const aborted = long.run({ x: square() }, {}, { signal: abort.signal });
    await expect(aborted).rejects.toThrow("not wanted any more");
    expect(openValues()).toBe(openBefore);
  });

  test.each([
    ["an input that is missing", { x: vector(1) }, { fetch: ["sum"] }, "the input past is missing"],
    ["an output that it has not", { past: vector(), x: vector(1) }, { fetch: ["z"] }, /\bz\b/],
    [
      "a shape that does not fit",
      { past: square(), x: vector(1) },
      { fetch: ["sum"] },
      /rank for input: past Got: 2 Expected: 1/,
    ],
  ] as const)("names %s", async (_what, feeds, targets, sentence) => {
    await expect(append.run(feeds, targets, { isQuiet: true })).rejects.toThrow(sentence);
    const { sum } = await append.run({ past: vector(1), x: vector(1) }, { fetch: ["sum"] });
    expect(numbers(sum)).toEqual([2]);
    expect(openValues()).toBe(openBefore);
  });
});

test("a binding runs again with what was written into its memory", async () => {
  const [past, x] = [Value.of(vector(0)), Value.of(vector(1))];
  const grown = Value.zeros("float32", [2]);
  const binding = append.bind({ past, x }, { into: { grown }, fetch: ["sum"] });
  for (let step = 1; step <= 3; step += 1) {
    past.read().data[0] = step;
    expect(numbers((await binding.run())["sum"])).toEqual([step + 1]);
    expect(Array.from(grown.read().data, Number)).toEqual([step, 1]);
  }
  await binding.close();
  for (const value of [past, x, grown]) value.close();
  await expect(binding.run()).rejects.toThrow("the binding is closed");
});

describe("what is closed", () => {
  test("throws in JavaScript and never reaches the library", async () => {
    const value = Value.of(vector(1));
    value.close();
    value.close();
    expect(() => value.read()).toThrow("the tensor is closed");
    const run = append.run({ past: value, x: vector(1) }, { fetch: ["sum"] });
    await expect(run).rejects.toThrow("the tensor is closed");
  });

  test("frees the memory that it was the last to lie in", () => {
    const memory = new HostMemory(8);
    const [one, both] = [[1], [2]].map((dims) => Value.in(memory, { type: "float32", dims }));
    one?.close();
    expect(numbers(both)).toEqual([0, 0]);
    both?.close();
    expect(() => memory.address).toThrow("the memory is freed");
  });

  test("is freed when the runs that use it have ended", async () => {
    const graph = await Session.open(writeLong(), CPU);
    const x = Value.of(square());
    const running = graph.run({ x }, { fetch: ["y"] });
    x.close();
    const closing = graph.close();
    await expect(graph.run({ x: square() }, {})).rejects.toThrow("the graph is closed");
    expect(numbers((await running)["y"])).toHaveLength(SIDE * SIDE);
    await closing;
    expect(openValues()).toBe(openBefore);
  });
});

describe("a graph that cannot be used is refused in a sentence that names", () => {
  test.each([
    ["an operator that is not there", "Levitate", "float32", /Levitate/],
    ["a type that is not read", "Identity", "string", /x cannot be used: its element type string/],
  ] as const)("%s", async (_what, operator, type, sentence) => {
    const graph = new Graph();
    graph.input("x", type, [1]);
    graph.output("y", type, [1], graph.node(operator, ["x"]));
    const path = join(root, "unfit.onnx");
    graph.write(path);
    await expect(Session.open(path, { ...CPU, isQuiet: true })).rejects.toThrow(sentence);
  });

  test("a file of weights that ends early", async () => {
    const graph = new Graph();
    graph.input("x", "float32", [1, 100]);
    graph.output("y", "float32", [1, 100], graph.node("Add", ["x", graph.floats([1, 100], [])]));
    graph.write(join(root, "cut.onnx"), { dataFile: "cut.data" });
    writeFileSync(join(root, "cut.data"), "short");
    const opening = Session.open(join(root, "cut.onnx"), { ...CPU, isQuiet: true });
    await expect(opening).rejects.toThrow(/cut\.data|external|out of bounds/i);
  });
});
