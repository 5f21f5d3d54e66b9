import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config.js";
import type { FrontSummary, WorkerSummary } from "../../front/ledger/index.js";
import type { Operations, QueueSummary } from "../../front/operations/index.js";
import { openScreen } from "./screen.js";
import { printJson, renderTable } from "./table.js";
import { withOperations } from "./operations.js";

interface TopOptions {
  readonly once?: boolean;
  /** Seconds between two looks. */
  readonly every: number;
  readonly json?: boolean;
}

interface Look {
  readonly queues: readonly QueueSummary[];
  readonly workers: readonly WorkerSummary[];
  readonly fronts: readonly FrontSummary[];
}

/** Shows queues and workers until q or Ctrl-C; once, as plain text, where the output is no terminal. */
export async function top(
  { once = false, every, json = false }: TopOptions,
  config: Config,
): Promise<void> {
  await withOperations(config, async (operations) => {
    if (json) return printJson(await look(operations));
    if (once || !process.stdout.isTTY) {
      process.stdout.write(render(await look(operations)));
      return;
    }
    await watch(operations, every * 1_000);
  });
}

async function watch(operations: Operations, everyMs: number): Promise<void> {
  const screen = openScreen();
  try {
    while (!screen.closing.aborted) {
      const shown = await look(operations).then(render, faultOf);
      const time = new Date().toTimeString().slice(0, 8);
      screen.draw(`framemill top · ${time} · q ends it\n\n${shown}`);
      await sleep(everyMs, undefined, { signal: screen.closing }).catch(() => undefined);
    }
  } finally {
    screen.close();
  }
}

/** A ledger that is away for a while is shown, not the end. */
function faultOf(error: unknown): string {
  return `no answer: ${error instanceof Error ? error.message : String(error)}\n`;
}

async function look(operations: Operations): Promise<Look> {
  const [queues, workers, fronts] = await Promise.all([
    operations.listQueues(),
    operations.listWorkers(),
    operations.listFronts(),
  ]);
  return { queues, workers, fronts };
}

function render({ queues, workers, fronts }: Look): string {
  const queueTable = renderTable(queues.map(queueRow));
  const workerTable = renderTable(workers.flatMap(workerRows));
  return `${queueTable || "no job waits, runs or has ended in the last five minutes\n"}
${workerTable || "no worker is there\n"}
${renderTable(fronts.map(frontRow)) || "no front is there\n"}`;
}

function queueRow(queue: QueueSummary): Record<string, string | number> {
  return {
    model: queue.model,
    queued: queue.queued + queue.waitingForTurn,
    running: queue.running,
    oldest: seconds(queue.oldestSeconds),
    "done/min": queue.completed,
    "failed/min": queue.failed,
    "wait p50": queue.waitSecondsP50 === null ? "" : seconds(queue.waitSecondsP50),
    p95: queue.waitSecondsP95 === null ? "" : seconds(queue.waitSecondsP95),
  };
}

function frontRow({ id, grpcAddress, state, waiting, seenAt }: FrontSummary) {
  return {
    front: id,
    state,
    "gRPC address": grpcAddress,
    "callers waiting": waiting,
    seen: seenAt,
  };
}

const MEBIBYTE = 2 ** 20;

/** One row a job; one for a worker without any. */
function workerRows(worker: WorkerSummary): Record<string, string | number>[] {
  const { workerId, state, drain, device, slots, memoryBytes } = worker;
  const about = {
    worker: workerId,
    state: drain ? "draining" : state,
    device: device.slice(0, 32),
    MiB: Math.round(memoryBytes / MEBIBYTE),
  };
  const idle = { job: `0 of ${slots}`, model: "", step: "" };
  if (worker.jobs.length === 0) return [{ ...about, ...idle }];
  return worker.jobs.map(({ id, model, stage, progress }, index) => ({
    ...(index === 0 ? about : { worker: "", state: "", device: "", MiB: "" }),
    job: id,
    model,
    step: `${progress}% ${stage ?? ""}`,
  }));
}

function seconds(count: number): string {
  if (count >= 3_600) return `${(count / 3_600).toFixed(1)} h`;
  return count >= 100 ? `${(count / 60).toFixed(1)} min` : `${count.toFixed(1)} s`;
}
