import { setTimeout as sleep } from "node:timers/promises";
import { clearScreenDown, cursorTo } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import type { Config } from "../../config.js";
import { messageOf } from "../../core/errors.js";
import type { FrontSummary, WorkerSummary } from "../../front/ledger/index.js";
import type { Operations, QueueSummary } from "../../front/operations/index.js";
import { printJson, renderTable, printTable } from "./table.js";
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
  return `no answer: ${messageOf(error)}\n`;
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

const ALTERNATE = "\u001b[?1049h\u001b[?25l";
const BACK = "\u001b[?25h\u001b[?1049l";
const CTRL_C = "\u0003";
const ROWS = 24;
const COLUMNS = 80;

interface Screen {
  /** Aborts when the user wants to leave. */
  readonly closing: AbortSignal;
  /** Shows text from the upper left corner, as much as there is room for. */
  draw(text: string): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** Takes the terminal for itself, until `close`. However the process ends, the terminal is given back. */
function openScreen(): Screen {
  const { stdin, stdout } = process;
  const closing = new AbortController();
  const leave = () => closing.abort();
  const onKey = (key: string) => {
    if (key === "q" || key === CTRL_C) leave();
  };
  const restore = () => stdout.write(BACK);
  stdout.write(ALTERNATE);
  process.once("exit", restore);
  process.once("SIGINT", leave);
  process.once("SIGTERM", leave);
  if (stdin.isTTY) stdin.setRawMode(true).setEncoding("utf8").on("data", onKey);
  return {
    closing: closing.signal,
    draw(text) {
      // Some terminals say 0 for what they do not know.
      const rows = stdout.rows > 0 ? stdout.rows : ROWS;
      const columns = stdout.columns > 0 ? stdout.columns : COLUMNS;
      const lines = text.split("\n").slice(0, rows);
      cursorTo(stdout, 0, 0);
      clearScreenDown(stdout);
      stdout.write(lines.map((line) => fit(line, columns)).join("\r\n"));
    },
    close() {
      process.off("exit", restore);
      process.off("SIGINT", leave);
      process.off("SIGTERM", leave);
      if (stdin.isTTY) stdin.off("data", onKey).setRawMode(false).pause();
      restore();
    },
  };
}

/** A line that is too long loses its colours with its end. */
function fit(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}

export async function listWorkers(
  { json = false }: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const workers = await withOperations(config, (operations) => operations.listWorkers());
  if (json) return printJson(workers);
  printTable(
    workers.map(({ workerId, state, drain, device, slots, memoryBytes, models, jobs }) => ({
      worker: workerId,
      state: drain ? "draining" : state,
      device,
      jobs: `${jobs.length} of ${slots}`,
      holds: jobs.map(({ id, progress }) => `${id} ${progress}%`).join(" "),
      "memory MiB": Math.round(memoryBytes / MEBIBYTE),
      models: models.length,
    })),
  );
}

export async function drainWorker(
  id: string,
  { undo = false }: { readonly undo?: boolean },
  config: Config,
): Promise<void> {
  await withOperations(config, (operations) => operations.drainWorker(id, !undo));
  process.stdout.write(undo ? `${id} may take jobs\n` : `${id} takes no more jobs\n`);
}
