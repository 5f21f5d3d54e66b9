import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { printTable } from "../../../src/bin/commands/table.js";
import { type Config, parseProviderOptions } from "../../../src/config.js";
import type { ProviderOptions } from "../../../src/core/modality.js";
import { gaussianNoise } from "../../../src/models/sampling/noise.js";
import { openGraphs, type Graphs } from "../../../src/runtime/ort/graphs.js";
import type { Feeds } from "../../../src/runtime/ort/session.js";
import { chooseProviders } from "../../../src/runtime/ort/choose-providers.js";
import {
  castTensor,
  DATA,
  float32,
  type GraphInfo,
  type Tensor,
  type TensorInfo,
  type Tensors,
  type TensorType,
} from "../../../src/runtime/tensors/tensor.js";
import { type BenchResult, distribute, machine, timed } from "../report/measure.js";

export interface BenchGraphOptions {
  readonly provider: string;
  /** Name → size of each free dimension. */
  readonly dims: Readonly<Record<string, number>>;
  readonly feeds?: string;
  readonly seed: number;
  readonly rounds: number;
  /** File for the result as JSON. */
  readonly out?: string;
  /** Whether each run waits for a line on standard input. */
  readonly paced?: boolean;
}

/** Times one ONNX file on one provider, with the worker's own way of opening and running it. */
export async function benchOneGraph(
  path: string,
  options: BenchGraphOptions,
  config: Config,
): Promise<void> {
  const { provider, dims, feeds, seed, rounds, out, paced = false } = options;
  const { threads } = config;
  const providerOptions = parseProviderOptions(config);
  const setup = { path, provider, providerOptions, threads, dims, seed };
  const graph = feeds === undefined ? setup : { ...setup, feedsPath: feeds };
  if (paced) return await serveRuns(graph);
  const result = await benchGraph(graph, rounds);
  const facts = Object.entries(result.conditions).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`\n${result.suite} (${facts.join(" · ")})\n`);
  printTable(
    (result.distributions ?? []).map(({ what, p50, p90, p99, unit, count }) => {
      return { what, p50, p90, p99, unit, count };
    }),
  );
  if (out !== undefined) await writeFile(out, `${JSON.stringify(result, null, 2)}\n`);
}

/**
 * For runs that take turns with another program's: a line `placed`, `kept` or `returned` makes one run and is
 * answered with its milliseconds, `save FOLDER` with the outputs written there; all answers are JSON.
 */
async function serveRuns(options: GraphBenchOptions): Promise<void> {
  const graph = await openBenchGraph(options);
  try {
    answer({ loadMs: graph.loadSeconds * 1_000 });
    for await (const line of createInterface({ input: process.stdin })) {
      answer(await serveLine(graph, line.trim()));
    }
  } finally {
    await graph.close();
  }
}

async function serveLine(graph: BenchGraph, line: string): Promise<object> {
  if (line === "placed") return { runMs: await graph.runPlaced() };
  if (line === "kept") return { runMs: await graph.runKept() };
  const { milliseconds, outputs } = await graph.runReturned();
  if (line.startsWith("save ")) await saveOutputs(outputs, line.slice("save ".length));
  else if (line !== "returned")
    throw new Error(`say placed, kept, returned or save FOLDER, not ${line}`);
  return { runMs: milliseconds };
}

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

export interface GraphBenchOptions extends FeedOptions {
  /** The ONNX file. */
  readonly path: string;
  /** An execution provider, e.g. `cuda`. */
  readonly provider: string;
  readonly providerOptions?: ProviderOptions;
  readonly threads: number;
}

/** One ONNX file, open as a worker opens it, with its inputs in place. */
export interface BenchGraph {
  /** From the provider's proof to the open session. */
  readonly loadSeconds: number;
  /** One run whose inputs are on the device already, and whose outputs stay there, in milliseconds. */
  runPlaced(): Promise<number>;
  /** One run that is fed from this process, and whose outputs stay on the device, in milliseconds. */
  runKept(): Promise<number>;
  /** One run that returns its outputs as a pipeline gets them, float16 as float32. */
  runReturned(): Promise<{ readonly milliseconds: number; readonly outputs: Tensors }>;
  close(): Promise<void>;
}

const ROLE = "graph";

/** Throws a sentence where the provider does not prove itself, or the file does not open on it. */
export async function openBenchGraph(options: GraphBenchOptions): Promise<BenchGraph> {
  const { path, provider, providerOptions, threads } = options;
  const { providers } = await chooseProviders([provider], providerOptions);
  const { seconds, value: graphs } = await timed(() =>
    openGraphs({
      graphs: { [ROLE]: path },
      threads,
      providers,
      providerOptions,
      repeats: [ROLE],
    }),
  );
  try {
    return await createBenchGraph(graphs, options, seconds);
  } catch (thrown) {
    await graphs.close();
    throw thrown;
  }
}

async function createBenchGraph(
  graphs: Graphs,
  options: GraphBenchOptions,
  loadSeconds: number,
): Promise<BenchGraph> {
  const info = graphs.info[ROLE] ?? { inputs: [], outputs: [] };
  const feeds = await makeFeeds(info, options);
  const keep = info.outputs.map(({ name }) => name);
  const placed = graphs.place(ROLE, feeds);
  const runFrom = async (given: Feeds): Promise<number> => {
    const { seconds, value } = await timed(() => graphs.step(ROLE, given, { keep, isQuiet: true }));
    for (const kept of Object.values(value.values)) kept.close();
    return seconds * 1_000;
  };
  return {
    loadSeconds,
    runPlaced: () => runFrom(placed),
    runKept: () => runFrom(feeds),
    async runReturned() {
      const { seconds, value } = await timed(() => graphs.run(ROLE, feeds, { isQuiet: true }));
      return { milliseconds: seconds * 1_000, outputs: value };
    },
    async close() {
      for (const value of Object.values(placed)) value.close();
      await graphs.close();
    },
  };
}

/** How one ONNX file runs on one provider: after two runs to warm up, both ways in turn. */
export async function benchGraph(options: GraphBenchOptions, rounds: number): Promise<BenchResult> {
  const graph = await openBenchGraph(options);
  try {
    const first = await graph.runKept();
    await graph.runReturned();
    const [placed, kept, returned]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      placed.push(await graph.runPlaced());
      kept.push(await graph.runKept());
      returned.push((await graph.runReturned()).milliseconds);
    }
    const { path, provider, threads, dims } = options;
    const sizes = Object.entries(dims).map(([name, size]) => `${name} ${size}`);
    return {
      suite: "graph",
      conditions: {
        ...machine(),
        file: basename(path),
        provider,
        threads,
        rounds,
        ...(sizes.length > 0 && { dims: sizes.join(", ") }),
      },
      rows: [],
      distributions: [
        distribute({ what: "load", unit: "ms" }, [graph.loadSeconds * 1_000]),
        distribute({ what: "first run", unit: "ms" }, [first]),
        distribute({ what: "run, nothing crosses", unit: "ms" }, placed),
        distribute({ what: "run, outputs kept", unit: "ms" }, kept),
        distribute({ what: "run, outputs returned", unit: "ms" }, returned),
      ],
    };
  } finally {
    await graph.close();
  }
}

/** Writes each output's values to `<output>.bin`, row by row, little-endian. */
export async function saveOutputs(outputs: Tensors, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, { data }] of Object.entries(outputs)) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    await writeFile(join(folder, `${name}.bin`), bytes);
  }
}

export interface FeedOptions {
  /** Name → size of each free dimension. */
  readonly dims: Readonly<Record<string, number>>;
  /** Folder of `<input>.bin` files: values row by row, little-endian, in the input's own type. */
  readonly feedsPath?: string;
  readonly seed: number;
}

/** A tensor for each input: from its file, else Gaussian floats of a seed and integers of 1. */
export async function makeFeeds(
  { inputs }: GraphInfo,
  options: FeedOptions,
): Promise<Readonly<Record<string, Tensor>>> {
  const entries = inputs.map(async (input, index) => {
    const dims = resolveDims(input, options.dims);
    const { feedsPath, seed } = options;
    const tensor =
      feedsPath === undefined
        ? makeFeed(input.type, dims, seed + index)
        : await readFeed(join(feedsPath, `${input.name}.bin`), input.type, dims);
    return [input.name, tensor] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Throws a sentence that names the free dimension that has no size. */
function resolveDims(
  { name, dims }: TensorInfo,
  sizes: Readonly<Record<string, number>>,
): number[] {
  return dims.map((dim) => {
    const size = typeof dim === "number" && dim >= 0 ? dim : sizes[dim];
    if (size !== undefined) return size;
    throw new Error(`the input ${name} has the free dimension ${dim}: give --dims ${dim}=SIZE`);
  });
}

function makeFeed(type: TensorType, dims: readonly number[], seed: number): Tensor {
  const isFloat = type.startsWith("float");
  const values = isFloat
    ? gaussianNoise(seed, lengthOf(dims))
    : new Float32Array(lengthOf(dims)).fill(1);
  return castTensor(float32(values, dims), type);
}

async function readFeed(path: string, type: TensorType, dims: readonly number[]): Promise<Tensor> {
  const bytes = await readFile(path);
  const data = new DATA[type](Uint8Array.from(bytes).buffer);
  if (data.length === lengthOf(dims)) return { type, data, dims };
  throw new Error(
    `${path} holds ${data.length} values of ${type}, the graph takes [${dims.join(", ")}]`,
  );
}

function lengthOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}
