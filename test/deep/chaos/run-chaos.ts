import { setTimeout as sleep } from "node:timers/promises";
import type { LogEvent } from "./event-log.js";
import type { Fault } from "./faults.js";
import type { Service } from "./service.js";
import { isRight, submit, type Workload } from "./workloads.js";

export interface ChaosPlan {
  /** Accepted jobs at least; more are sent until every fault has been tried. */
  readonly jobs: number;
  /** Jobs on their way at most: the service sets the pace. */
  readonly mostOpen: number;
  /** Of so many jobs one is poisoned, and one is cancelled. */
  readonly oneIn: number;
  /** One after the other, again and again while jobs are sent. */
  readonly faults: readonly Fault[];
  readonly pauseMs: number;
  /** Longest wait for the last job's end. */
  readonly settleMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

type Plain<Each = LogEvent> = Each extends LogEvent ? Omit<Each, "atMs"> : never;

interface Run {
  readonly service: Service;
  readonly plan: ChaosPlan;
  readonly note: (event: Plain) => void;
  readonly asked: Map<string, Workload>;
  /** Not seen to have ended yet. */
  readonly open: Set<string>;
  sent: number;
  /** Every fault has been tried. */
  tried: boolean;
}

const POISONS = ["crash", "nan"] as const;
const SENDERS = 4;
const POLL_MS = 500;
const STEP_MS = 100;

/** As many jobs as the service takes, under one fault after another; resolves to what was seen. */
export async function runChaos(service: Service, plan: ChaosPlan): Promise<LogEvent[]> {
  const startedAt = performance.now();
  const log: LogEvent[] = [];
  const note = (event: Plain) => {
    log.push({ ...event, atMs: Math.round(performance.now() - startedAt) });
  };
  const asked = new Map<string, Workload>();
  const open = new Set<string>();
  const run: Run = { service, plan, note, asked, open, sent: 0, tried: false };
  const over = new AbortController();
  const watching = watch(run, over.signal);
  const sending = Array.from({ length: SENDERS }, () => sendJobs(run));
  await Promise.all([injectFaults(run), ...sending]);
  const end = performance.now() + plan.settleMs;
  while (run.open.size > 0 && performance.now() < end) await sleep(POLL_MS);
  over.abort();
  await watching;
  await noteOutcome(run);
  return log;
}

function goesOn({ asked, plan, tried }: Run): boolean {
  return asked.size < plan.jobs || !tried;
}

async function injectFaults(run: Run): Promise<void> {
  const { service, plan, note } = run;
  while (goesOn(run)) {
    for (const fault of plan.faults) {
      if (!goesOn(run)) return;
      await sleep(plan.pauseMs);
      note({ type: "fault", promise: fault.promise, what: fault.what });
      await fault.inject(service);
    }
    run.tried = true;
  }
}

async function sendJobs(run: Run): Promise<void> {
  while (goesOn(run)) {
    if (run.open.size < run.plan.mostOpen) await sendOne(run);
    else await sleep(POLL_MS / 10);
  }
}

async function sendOne(run: Run): Promise<void> {
  const { service, plan, note, asked, open } = run;
  const number = run.sent;
  run.sent += 1;
  const poison = number % plan.oneIn === 1;
  const workload: Workload = {
    seed: Math.floor(plan.random() * 1_000_000),
    steps: 3 + Math.floor(plan.random() * 10),
    stepMs: STEP_MS,
    does: poison ? (POISONS[Math.floor(number / plan.oneIn) % POISONS.length] ?? "crash") : "work",
  };
  const id = await submit(service, workload, (status) => note({ type: "refused", status }));
  asked.set(id, workload);
  note({ type: "accepted", id, poison });
  if (number % plan.oneIn === 2) await cancel({ service, note }, id);
  open.add(id);
}

async function cancel({ service, note }: Pick<Run, "service" | "note">, id: string): Promise<void> {
  while ((await service.request(`/workloads/${id}/cancel`, {}))?.status !== 200) await sleep(100);
  note({ type: "cancelled", id });
}

/** A client that polls all its jobs. */
async function watch({ service, note, open }: Run, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    for (const id of open) {
      const reply = await service.request(`/workloads/${id}`);
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
}

/** What ledger and store say once nothing runs any more. */
async function noteOutcome({ service, note, asked }: Run): Promise<void> {
  // Files of failed jobs go with the janitor's next round.
  await sleep(6_000);
  const rows = await service.readLedger();
  const keys = await service.listFiles();
  for (const row of rows) note(row);
  for (const key of keys) note({ type: "file", key });
  for (const row of rows) {
    const workload = asked.get(row.id);
    if (row.state !== "completed" || workload === undefined) continue;
    note({ type: "content", id: row.id, isRight: await isRight(service, row, workload) });
  }
}
