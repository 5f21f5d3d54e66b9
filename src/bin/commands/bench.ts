import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchResult } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { createOperations } from "../../front/operations.js";
import { startStack } from "../stack.js";
import { printTable } from "./table.js";

export interface BenchOptions {
  /** Folder for one JSON file a suite. */
  readonly out: string;
  readonly rounds: number;
}

type Suite = (config: Config, rounds: number) => Promise<BenchResult>;

const SUITES: Readonly<Record<string, Suite>> = {
  async media(config, rounds) {
    const { benchMedia } = await import("../../bench/media.js");
    return benchMedia(pipelineSetup(config), rounds);
  },
  async video(config, rounds) {
    const { benchVideo } = await import("../../bench/video.js");
    return benchVideo(pipelineSetup(config), rounds);
  },
  queue: runQueue,
};

/** Runs suites one after the other; prints conditions and ratios, writes JSON. */
export async function bench(
  names: readonly string[],
  { out, rounds }: BenchOptions,
  config: Config,
): Promise<void> {
  const chosen = names.length === 0 ? Object.keys(SUITES) : names;
  const unknown = chosen.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    throw new Error(`there is no suite ${unknown}: give some of ${Object.keys(SUITES).join(", ")}`);
  }
  await mkdir(out, { recursive: true });
  for (const name of chosen) {
    const result = await SUITES[name]?.(config, rounds);
    if (result === undefined) continue;
    print(result);
    await writeFile(join(out, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  }
}

function print({ suite, conditions, rows }: BenchResult): void {
  const facts = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`\n${suite} (${facts.join(" · ")})\n`);
  printTable(
    rows.map(({ what, ours, against, unit, ratio, target }) => ({
      what,
      ours,
      against,
      unit,
      ratio: ratio.toFixed(3),
      target: target ?? "",
    })),
  );
}

function pipelineSetup({ modelsDir, threads, ffmpegPath, ffprobePath }: Config) {
  return { modelPath: join(modelsDir, "service-motion-1"), threads, ffmpegPath, ffprobePath };
}

async function runQueue(config: Config, rounds: number): Promise<BenchResult> {
  const { benchQueue } = await import("../../bench/queue.js");
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  const stack = await startStack({
    ...config,
    dataDir,
    port: 0,
    grpcPort: 0,
    workerPort: 0,
    logLevel: "error",
  });
  try {
    const { database, keys } = stack.front;
    const operations = createOperations(database, keys);
    const broker = config.amqpUrl === undefined ? "in-process broker" : "RabbitMQ";
    return await benchQueue(
      {
        ...stack.endpoint,
        parts: `${broker}, ${database.engine}`,
        isIdle: () => stack.worker.state === "ready",
        findTimes: async (id) => (await operations.listJobs(10)).find((job) => job.id === id),
      },
      rounds,
    );
  } finally {
    await stack.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}
