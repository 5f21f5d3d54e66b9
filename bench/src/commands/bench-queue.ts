import { join } from "node:path";
import type { BenchResult } from "../measure.js";
import { findListener } from "../process-cpu.js";
import type { ThroughputResult } from "../throughput.js";
import type { Config } from "../../../src/config.js";
import { createOperations } from "../../../src/front/operations/index.js";
import { startServiceProcesses } from "../service-processes.js";
import { partsOf, withBenchFolder, withBenchStack } from "./bench-stack.js";

/** The smallest model of the repository whose jobs run beside each other. */
const SMALLEST_MODEL = "service-embed-1";

/** Waits of a lone clip in one process, then the rate of the smallest jobs in processes apart. */
export async function runQueue(config: Config, rounds: number): Promise<BenchResult> {
  const waits = await runWaits(config, rounds);
  if (config.amqpUrl === undefined || config.databaseUrl === undefined) return waits;
  const rate = await runThroughput(config, rounds);
  return {
    ...waits,
    conditions: { ...waits.conditions, ...rate.conditions },
    rows: [...waits.rows, ...rate.rows],
    distributions: [...(waits.distributions ?? []), ...rate.distributions],
  };
}

async function runWaits(config: Config, rounds: number): Promise<BenchResult> {
  const { benchQueue } = await import("../queue.js");
  return await withBenchStack(config, async (stack) => {
    const { endpoint, front, worker } = stack;
    const operations = createOperations(front.database, front.keys);
    return await benchQueue(
      {
        ...endpoint,
        parts: partsOf(config, stack),
        isIdle: () => worker.state === "ready",
        findTimes: async (id) =>
          (await operations.listJobs({ limit: 10 })).find((job) => job.id === id),
      },
      rounds,
    );
  });
}

async function runThroughput(config: Config, rounds: number): Promise<ThroughputResult> {
  const { benchThroughput } = await import("../throughput.js");
  return await withBenchFolder(config, async (own) => {
    const scratchDir = join(own.dataDir, "scratch");
    const model = SMALLEST_MODEL;
    const service = await startServiceProcesses({ ...own, scratchDir, models: [model] });
    try {
      const { front, worker, inference = 0 } = service.processIds();
      const processes = {
        front: { root: front },
        worker: { root: worker, without: [inference] },
        inference: { root: inference },
        RabbitMQ: { root: await listenerAt(config.amqpUrl) },
        Postgres: { root: await listenerAt(config.databaseUrl) },
      };
      return await benchThroughput({ ...service.endpoint, model, processes }, rounds);
    } finally {
      await service.close();
    }
  });
}

async function listenerAt(url: string | undefined): Promise<number | undefined> {
  return url === undefined ? undefined : await findListener(Number(new URL(url).port));
}
