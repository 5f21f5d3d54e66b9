import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stack } from "../../../src/bin/stack.js";
import type { Config } from "../../../src/config.js";
import { createOperations } from "../../../src/front/operations/index.js";
import { cancelClip, postClip } from "./load.js";
import {
  type BenchResult,
  type BenchRow,
  distribute,
  machine,
  median,
  noiseOf,
} from "../report/measure.js";
import { findListener } from "../service/process-cpu.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { partsOf, withBenchFolder, withBenchStack } from "../service/stack.js";
import { type ApartService, benchThroughput, type ThroughputResult } from "./throughput.js";

/** From the accepted POST to the worker's claim, on an idle service. */
const TARGET_MS = 15;
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

/** Sends clips one at a time, notes when each starts, and cancels it. */
async function runWaits(config: Config, rounds: number): Promise<BenchResult> {
  return await withBenchStack(config, async (stack) => {
    const { endpoint, worker } = stack;
    const waits: number[] = [];
    const answers: number[] = [];
    const { signal } = new AbortController();
    for (let round = 0; round <= rounds * 5; round++) {
      const startedAt = performance.now();
      const id = await postClip(endpoint, round, signal);
      const answerMs = performance.now() - startedAt;
      const waitMs = await untilStarted(stack, id);
      await cancelClip(endpoint, id, signal);
      while (worker.state !== "ready") await sleep(20);
      // The first one opens connections.
      if (round === 0) continue;
      answers.push(answerMs);
      waits.push(waitMs);
    }
    return {
      suite: "queue",
      conditions: { ...machine(), parts: partsOf(config, stack), jobs: waits.length },
      rows: [
        rowOf("POST accepted → in_progress", waits, TARGET_MS),
        rowOf("POST → answer", answers, null),
      ],
      distributions: [
        distribute({ what: "POST accepted → in_progress", unit: "ms" }, waits),
        distribute({ what: "POST → answer", unit: "ms" }, answers),
      ],
    };
  });
}

/** Milliseconds from a job's acceptance to its first start, by the database's clock. */
async function untilStarted({ front }: Stack, id: string): Promise<number> {
  const operations = createOperations(front.database, front.keys);
  for (;;) {
    const job = (await operations.listJobs({ limit: 10 })).find((one) => one.id === id);
    if (job !== undefined && job.startedAt !== null)
      return Date.parse(job.startedAt) - Date.parse(job.createdAt);
    await sleep(5);
  }
}

function rowOf(what: string, values: readonly number[], limitMs: number | null): BenchRow {
  const p50 = Number(median(values).toFixed(1));
  const against = limitMs ?? Number(Math.max(...values).toFixed(1));
  return {
    what,
    ours: p50,
    against,
    unit: limitMs === null ? "ms (p50, max)" : "ms (p50, limit)",
    ratio: p50 / against,
    target: limitMs === null ? null : 1,
    noise: noiseOf(values),
  };
}

async function runThroughput(config: Config, rounds: number): Promise<ThroughputResult> {
  return await withServiceApart(config, (service) => benchThroughput(service, rounds));
}

/** Front and worker over broker and database of the configuration, with the smallest model. */
export async function withServiceApart<T>(
  config: Config,
  use: (service: ApartService) => Promise<T>,
): Promise<T> {
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
      return await use({ ...service.endpoint, model, processes });
    } finally {
      await service.close();
    }
  });
}

async function listenerAt(url: string | undefined): Promise<number | undefined> {
  return url === undefined ? undefined : await findListener(Number(new URL(url).port));
}
