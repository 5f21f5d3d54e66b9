import { setTimeout as sleep } from "node:timers/promises";
import type { LogEvent } from "./event-log.js";
import type { Fault } from "./faults.js";
import { MODEL, type Stand } from "./stand.js";
import { expectedValue } from "./toil/pipeline.js";

export interface ChaosPlan {
  /** Accepted jobs in all. */
  readonly jobs: number;
  readonly everyMs: number;
  /** Of so many jobs one is poisoned, and one is cancelled. */
  readonly oneIn: number;
  readonly faults: readonly Fault[];
  readonly pauseMs: number;
  /** Longest wait for the last job's end. */
  readonly settleMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

interface Asked {
  readonly seed: number;
  readonly steps: number;
}

const POISONS = ["crash", "nan"] as const;
const POLL_MS = 500;

/** Jobs at a steady pace under one fault after another; resolves to what was seen. */
export async function runChaos(stand: Stand, plan: ChaosPlan): Promise<LogEvent[]> {
  const startedAt = performance.now();
  const log: LogEvent[] = [];
  type Plain = LogEvent extends infer Each
    ? Each extends LogEvent
      ? Omit<Each, "atMs">
      : never
    : never;
  const note = (event: Plain) => {
    log.push({ atMs: Math.round(performance.now() - startedAt), ...event });
  };
  const open = new Set<string>();
  const asked = new Map<string, Asked>();
  const over = new AbortController();

  const submit = async (number: number): Promise<void> => {
    const seed = Math.floor(plan.random() * 1_000_000);
    const steps = 3 + Math.floor(plan.random() * 10);
    const poison = number % plan.oneIn === 1;
    const does = poison ? POISONS[number % POISONS.length] : "work";
    const body = { model: MODEL, seed, steps, step_ms: 250, does };
    for (;;) {
      const reply = await stand.request("/toils", body);
      if (reply?.status === 200) {
        const id = reply.json.id as string;
        asked.set(id, { seed, steps });
        note({ type: "accepted", id, poison });
        if (number % plan.oneIn === 2) await cancel(id);
        open.add(id);
        return;
      }
      if (reply !== undefined) note({ type: "refused", status: reply.status });
      await sleep(200);
    }
  };
  const cancel = async (id: string): Promise<void> => {
    for (;;) {
      const reply = await stand.request(`/toils/${id}/cancel`, {});
      if (reply?.status === 200) break;
      await sleep(100);
    }
    note({ type: "cancelled", id });
  };
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const id of open) {
        const reply = await stand.request(`/toils/${id}`);
        if (reply?.status !== 200) {
          if (reply !== undefined) note({ type: "refused", status: reply.status });
          continue;
        }
        const { status, progress } = reply.json as { status: string; progress: number };
        note({ type: "seen", id, status, progress });
        if (status === "completed" || status === "failed") open.delete(id);
      }
      await sleep(POLL_MS);
    }
  };
  const injectAll = async (): Promise<void> => {
    for (const fault of plan.faults) {
      await sleep(plan.pauseMs);
      note({ type: "fault", promise: fault.promise, what: fault.what });
      await fault.inject(stand);
    }
  };
  const submitAll = async (): Promise<void> => {
    for (let number = 0; number < plan.jobs; number += 1) {
      await submit(number);
      await sleep(plan.everyMs);
    }
  };

  const watching = watch();
  await Promise.all([submitAll(), injectAll()]);
  const end = performance.now() + plan.settleMs;
  while (open.size > 0 && performance.now() < end) await sleep(POLL_MS);
  over.abort();
  await watching;
  await gather(stand, { note, asked });
  return log;
}

interface Gathering {
  readonly note: (event: never) => void;
  readonly asked: ReadonlyMap<string, Asked>;
}

/** What ledger and store say once nothing runs any more. */
async function gather(stand: Stand, { note, asked }: Gathering): Promise<void> {
  const tell = note as (event: object) => void;
  // Files of failed jobs go with the janitor's next round.
  await sleep(6_000);
  const rows = await stand.readLedger();
  const keys = await stand.listFiles();
  for (const row of rows) tell(row);
  for (const key of keys.filter((name) => !name.includes("checkpoint")))
    tell({ type: "file", key });
  for (const { id, state, files } of rows) {
    const job = asked.get(id);
    const [key] = files;
    if (state !== "completed" || job === undefined || key === undefined) continue;
    const text = await stand.readFile(key).catch(() => "");
    const right = JSON.stringify({ value: expectedValue(job.seed, job.steps) });
    tell({ type: "content", id, isRight: text === right });
  }
}
