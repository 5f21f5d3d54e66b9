import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { openGraphs, type Feeds, type Graphs } from "../../src/runtime/ort/graphs.js";
import { chooseProviders } from "../../src/runtime/ort/providers.js";
import type { Tensors } from "../../src/runtime/tensors/tensor.js";
import { type FeedOptions, makeFeeds } from "./graph-feeds.js";
import { type BenchResult, distribute, machine, timed } from "./measure.js";

export interface GraphBenchOptions extends FeedOptions {
  /** The ONNX file. */
  readonly path: string;
  /** An execution provider, e.g. `cuda`. */
  readonly provider: string;
  readonly threads: number;
}

/** One ONNX file, open as a worker opens it, with its inputs in place. */
export interface BenchGraph {
  /** From the provider's proof to the open session. */
  readonly loadSeconds: number;
  /** One run whose outputs stay where the provider leaves them, in milliseconds. */
  runKept(): Promise<number>;
  /** One run that returns its outputs as a pipeline gets them, float16 as float32. */
  runReturned(): Promise<{ readonly milliseconds: number; readonly outputs: Tensors }>;
  close(): Promise<void>;
}

const ROLE = "graph";

/** Throws a sentence where the provider does not prove itself, or the file does not open on it. */
export async function openBenchGraph(options: GraphBenchOptions): Promise<BenchGraph> {
  const { path, provider, threads } = options;
  const providers = await chooseProviders([provider]);
  const { seconds, value: graphs } = await timed(() =>
    openGraphs({ graphs: { [ROLE]: path }, threads, providers }),
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
  const feeds: Record<string, Feeds[string]> = {};
  for (const [name, tensor] of Object.entries(await makeFeeds(info, options))) {
    graphs.put(`in ${name}`, tensor);
    feeds[name] = { kept: `in ${name}` };
  }
  const keep = Object.fromEntries(info.outputs.map(({ name }) => [name, `out ${name}`]));
  return {
    loadSeconds,
    async runKept() {
      const { seconds } = await timed(() => graphs.run(ROLE, feeds, { keep, quiet: true }));
      return seconds * 1_000;
    },
    async runReturned() {
      const { seconds, value } = await timed(() => graphs.run(ROLE, feeds, { quiet: true }));
      return { milliseconds: seconds * 1_000, outputs: value };
    },
    async close() {
      graphs.drop([...Object.values(keep), ...info.inputs.map(({ name }) => `in ${name}`)]);
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
    const [kept, returned]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
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
