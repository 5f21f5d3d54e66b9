import { setTimeout as sleep } from "node:timers/promises";
import { cancelClip, postClip } from "./load-kinds.js";
import { type BenchResult, distribute, machine, median, noiseOf } from "./measure.js";

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
