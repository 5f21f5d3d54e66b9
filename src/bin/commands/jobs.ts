import type { Config } from "../../config.js";
import type { JobDetail, JobsQuery, JobSummary } from "../../front/operations/index.js";
import type { DeadLetters } from "../../queue/index.js";
import { formatUsd, printJson, printTable } from "./table.js";
import { withOperations } from "./operations.js";

interface PrintOptions {
  readonly json?: boolean;
}

export async function listJobs(
  { json = false, ...query }: JobsQuery & PrintOptions,
  config: Config,
): Promise<void> {
  const jobs = await withOperations(config, (operations) => operations.listJobs(query));
  if (json) return printJson(jobs);
  printTable(jobs.map(toRow), "no such job");
  if (jobs.length === query.limit)
    process.stderr.write(`there may be more: --after ${jobs.at(-1)?.id ?? ""}\n`);
}

function toRow(job: JobSummary): Record<string, string | number> {
  return {
    id: job.id,
    project: job.project,
    model: job.model,
    state: job.failureCode ?? job.state,
    progress: `${job.progress}%`,
    attempts: job.attempts,
    quoted: formatUsd(job.quotedMicroUsd),
    charged: job.chargedMicroUsd === null ? "" : formatUsd(job.chargedMicroUsd),
    created: job.createdAt,
  };
}

export async function showJob(
  id: string,
  { json = false }: PrintOptions,
  config: Config,
): Promise<void> {
  const job = await withOperations(config, (operations) => operations.getJob(id));
  if (json) return printJson(job);
  const facts = factsOf(job).filter(([, value]) => value !== "");
  for (const [name, value] of facts) process.stdout.write(`${name.padEnd(10)} ${value}\n`);
  process.stdout.write("\n");
  const rows = job.runs.map(({ token, workerId, outcome, gpuMs, startedAt, endedAt }) => ({
    attempt: token,
    worker: workerId,
    outcome: outcome ?? (job.state === "in_progress" ? "running" : "not heard of again"),
    seconds: (gpuMs / 1_000).toFixed(1),
    started: startedAt,
    ended: endedAt ?? "",
  }));
  printTable(rows, "no worker has begun it");
}

function factsOf(job: JobDetail): [string, string][] {
  const { failure, state, stage, progress, waitsForTurn } = job;
  const running = state === "in_progress" ? `, ${progress}% ${stage ?? "between workers"}` : "";
  const units = Object.entries(job.units).map(([unit, count]) => `${count} ${unit}`);
  return [
    ["job", job.id],
    ["project", `${job.project} (${job.projectId}), key ${job.apiKeyId}`],
    ["model", [job.model, job.modality, job.tier].filter(Boolean).join(", ")],
    ["state", `${state}${running}${waitsForTurn ? ", until it is its project's turn" : ""}`],
    ["failure", failure === null ? "" : `${failure.code}: ${failure.message}`],
    ["units", units.join(", ")],
    ["quoted", formatUsd(job.quotedMicroUsd)],
    ["charged", job.chargedMicroUsd === null ? "" : formatUsd(job.chargedMicroUsd)],
    ["crashes", job.crashes === 0 ? "" : String(job.crashes)],
    ["moved", job.preemptions === 0 ? "" : `${job.preemptions} times`],
    ["created", job.createdAt],
    ["started", job.startedAt ?? ""],
    ["ended", job.endedAt ?? ""],
    ["deadline", job.endedAt === null ? job.deadlineAt : ""],
    ["kept until", job.expiresAt ?? ""],
  ];
}

/** Fails after the last where one of them had ended before. */
export async function cancelJobs(
  ids: readonly string[],
  { json = false }: PrintOptions,
  config: Config,
): Promise<void> {
  const ends = await withOperations(config, async (operations) => {
    const cancelled: { id: string; cancelled: boolean }[] = [];
    for (const id of ids) cancelled.push({ id, cancelled: await operations.cancelJob(id) });
    return cancelled;
  });
  if (json) printJson(ends);
  else
    for (const { id, cancelled } of ends)
      process.stdout.write(cancelled ? `${id} is cancelled\n` : `${id} had ended\n`);
  if (ends.some(({ cancelled }) => !cancelled)) process.exitCode = 1;
}

export async function retryJobs(
  ids: readonly string[],
  { json = false }: PrintOptions,
  config: Config,
): Promise<void> {
  await withOperations(config, async (operations) => {
    for (const id of ids) {
      const again = await operations.retryJob(id);
      if (json) printJson(again);
      else process.stdout.write(`${again.id} does over ${id}\n`);
    }
  });
}

interface DeadLetterOptions {
  readonly limit: number;
  readonly replay?: readonly string[];
  readonly drop?: readonly string[];
  readonly json?: boolean;
}

/** Lists what the broker has put aside, or puts some of it back, or forgets some. */
export async function deadLetters(options: DeadLetterOptions, config: Config): Promise<void> {
  await withOperations(config, async ({ deadLetters: letters }) => {
    const { replay = [], drop = [] } = options;
    for (const id of replay) await settle(letters, "replay", id);
    for (const id of drop) await settle(letters, "drop", id);
    if (replay.length + drop.length === 0) await list(letters, options);
  });
}

async function list(letters: DeadLetters, { limit, json }: DeadLetterOptions): Promise<void> {
  const found = await letters.list(limit);
  if (json === true) return printJson(found);
  printTable(
    found.map(({ id, routingKey, jobId, reason, fault, diedAt }) => ({
      id,
      queue: routingKey,
      job: jobId ?? "",
      why: fault === null ? reason : `${reason}: ${fault.replaceAll("\n", " ")}`,
      died: diedAt ?? "",
    })),
    "nothing was put aside",
  );
}

async function settle(letters: DeadLetters, move: "replay" | "drop", id: string): Promise<void> {
  if (!(await letters[move](id)))
    throw new Error(`no message ${id} is among the 1000 oldest that were put aside`);
  process.stdout.write(move === "replay" ? `${id} is back in its queue\n` : `${id} is forgotten\n`);
}
