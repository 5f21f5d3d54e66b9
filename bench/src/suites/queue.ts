import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../../src/config.js";
import { createOperations } from "../../../src/front/operations/index.js";
import { cancelClip, postClip } from "./load.js";
import { type BenchResult, distribute, machine, median, noiseOf } from "../report/measure.js";
import { findListener } from "../service/process-cpu.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { partsOf, withBenchFolder, withBenchStack } from "../service/stack.js";
import { benchThroughput, type ThroughputResult } from "./throughput.js";

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

export interface BenchService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Names of broker and database, for the conditions. */
  readonly parts: string;
  /** Whether the worker has nothing in its hands. */
  readonly isIdle: () => boolean;
  /** When a job was accepted and first started, by the database's clock. */
  readonly findTimes: (id: string) => Promise<JobTimes | undefined>;
}

export interface JobTimes {
  readonly createdAt: string;
  readonly startedAt: string | null;
}

/** From the accepted POST to the worker's claim, on an idle service. */
const TARGET_MS = 15;

/** Sends clips one at a time, notes when each starts, and cancels it. */
export async function benchQueue(service: BenchService, rounds: number): Promise<BenchResult> {
  const waits: number[] = [];
  const answers: number[] = [];
  const { signal } = new AbortController();
  for (let round = 0; round <= rounds * 5; round++) {
    const startedAt = performance.now();
    const id = await postClip(service, round, signal);
    const answerMs = performance.now() - startedAt;
    const times = await untilStarted(service, id);
    await cancelClip(service, id, signal);
    while (!service.isIdle()) await sleep(20);
    // The first one opens connections.
    if (round === 0) continue;
    answers.push(answerMs);
    waits.push(Date.parse(times.startedAt ?? "") - Date.parse(times.createdAt));
  }
  const row = (what: string, values: readonly number[], limitMs: number | null) => {
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
  };
  return {
    suite: "queue",
    conditions: { ...machine(), parts: service.parts, jobs: waits.length },
    rows: [
      row("POST accepted → in_progress", waits, TARGET_MS),
      row("POST → answer", answers, null),
    ],
    distributions: [
      distribute({ what: "POST accepted → in_progress", unit: "ms" }, waits),
      distribute({ what: "POST → answer", unit: "ms" }, answers),
    ],
  };
}

async function untilStarted(service: BenchService, id: string): Promise<JobTimes> {
  for (;;) {
    const times = await service.findTimes(id);
    if (times !== undefined && times.startedAt !== null) return times;
    await sleep(5);
  }
}
