import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import {
  benchGraph,
  type BenchGraph,
  type GraphBenchOptions,
  openBenchGraph,
  saveOutputs,
} from "../graph.js";
import type { Config } from "../../../src/config.js";
import { printTable } from "../../../src/bin/commands/table.js";

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
  { threads }: Config,
): Promise<void> {
  const { provider, dims, feeds, seed, rounds, out, paced = false } = options;
  const setup = { path, provider, threads, dims, seed };
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
 * For runs that take turns with another program's: a line `kept` or `returned` makes one run and is
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
  if (line === "kept") return { runMs: await graph.runKept() };
  const { milliseconds, outputs } = await graph.runReturned();
  if (line.startsWith("save ")) await saveOutputs(outputs, line.slice("save ".length));
  else if (line !== "returned") throw new Error(`say kept, returned or save FOLDER, not ${line}`);
  return { runMs: milliseconds };
}

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
