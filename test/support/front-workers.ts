import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { expect } from "vitest";
import type { Chunk, PipelineEvent } from "#framemill/core/events.js";
import type { Job, Lease } from "#framemill/core/job.js";
import type { ModelInfo } from "#framemill/core/modality.js";
import type { CompletionReport } from "#framemill/core/reports.js";
import { type Units, priceOf } from "#framemill/core/usage.js";
import { UNTRACED } from "#framemill/core/tracing.js";
import type { InferenceJob } from "#framemill/runtime/process/protocol.js";
import type { GenerationOutput } from "#framemill/models/decoder/request/generation-request.js";
import { findModality, listModalities } from "#framemill/modalities/registry.js";
import { createReporter, createReporters } from "#framemill/rpc/reporter.js";
import { createDirectives } from "#framemill/worker/attempt.js";
import { startWorker, type Worker } from "#framemill/worker/worker.js";
import { REPLY_MODELS, SOON, WORKER_TOKEN, type Harness } from "./front-harness.js";

/** What a job does instead of inference. */
export type Script = (task: InferenceJob, signal: AbortSignal) => AsyncIterable<PipelineEvent>;

const UNATTENDED = REPLY_MODELS.unattended;
const replied = ({ id, modality }: ModelInfo) => modality !== "video" && id !== UNATTENDED;

/** A whole worker over real gRPC; only its inference is a script. */
export async function startScriptedWorker(
  { broker, store, models, front }: Pick<Harness, "broker" | "store" | "models" | "front">,
  script: Script,
  serves: (model: ModelInfo) => boolean = replied,
  workerId = "scripted",
): Promise<Worker> {
  const directives = createDirectives();
  const open = (address: string) =>
    createReporter({
      address,
      token: WORKER_TOKEN,
      onDirective: (lease, directive) => directives.deliver(lease, directive),
    });
  const reporter = open(`127.0.0.1:${front.grpcPort}`);
  const reporters = createReporters(open);
  const silent = { info: () => {}, warn: () => {}, error: () => {} };
  const folder = `framemill-worker-${randomBytes(4).toString("hex")}`;
  return await startWorker({
    workerId,
    models: models.filter(serves),
    slots: 1,
    nanoUsdPerHour: 0,
    scratchDir: join(tmpdir(), folder, "scratch"),
    spoolDir: join(tmpdir(), folder, "spool"),
    jobTimeoutMs: 60_000,
    drainMs: 1_000,
    health: { host: "127.0.0.1", port: 0 },
    broker,
    reporter,
    streamOf: (reportTo) => (reportTo === undefined ? reporter : reporters.at(reportTo)),
    announce: (status) => reporter.announce(status),
    async closeReporters() {
      await Promise.all([reporter.close(), reporters.close()]);
    },
    directives,
    inference: {
      ready: async () => {},
      // The folder is there for a script that writes, as for a pipeline that asks for it.
      async *run(task, signal) {
        await mkdir(task.scratchPath, { recursive: true });
        yield* script(task, signal);
      },
      processId: undefined,
      device: "no device",
      memoryBytes: async () => 1,
      close: async () => {},
    },
    store,
    findModality,
    modalities: listModalities(),
    tracer: UNTRACED,
    log: silent,
  });
}

/** A chat body whose only message is `prompt`. */
export function say(prompt: string, more: object = {}) {
  const messages = [{ role: "user" as const, content: prompt }];
  return { model: REPLY_MODELS.chat as string, messages, ...more };
}

/** The prompt of a chat job. */
export function promptOf({ request }: Job): string {
  return (request as { messages: { content: string }[] }).messages.at(-1)?.content ?? "";
}

export function words(
  text: string,
  usage: GenerationOutput["usage"] = { promptTokens: 10, completionTokens: 5 },
): GenerationOutput {
  return {
    choices: [{ parts: [{ type: "text", text }], finishReason: "stop", logprobs: null }],
    usage,
  };
}

export function delta(text: string): Chunk {
  return { type: "json", value: { choice: 0, parts: [{ type: "text", text }] } };
}

/** What a chat job's worker reports at its end. */
export function wordsCompletion(lease: Lease, output: GenerationOutput): CompletionReport {
  const { jobId, token, prices } = lease;
  const { promptTokens, completionTokens } = output.usage;
  const units: Units = { inputTokens: promptTokens, outputTokens: completionTokens };
  const cost = { prices, amountMicroUsd: priceOf(prices, units) };
  return { jobId, token, usage: { ...units, gpuMs: 7 }, cost, artifacts: [], output };
}

interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly code: string | null;
  readonly request: object;
  readonly output: unknown;
  readonly files_removed: boolean;
  readonly charged: number | null;
}

export async function readJob({ database }: Harness, id: string): Promise<JobRow | undefined> {
  const { rows } = await sql<JobRow>`SELECT id, state, failure->>'code' AS code, request, output,
      files_removed, (SELECT amount_micro_usd FROM charges WHERE job_id = jobs.id) AS charged
    FROM jobs WHERE id = ${id}`.execute(database);
  return rows[0];
}

/** Waits for the open job of the unattended model and returns its id; tests have one at a time. */
export async function openJob({ database }: Harness): Promise<string> {
  let id: string | undefined;
  await expect
    .poll(async () => {
      const { rows } = await sql<{ id: string }>`SELECT id FROM jobs
        WHERE model = ${UNATTENDED} AND state = 'queued'`.execute(database);
      id = rows[0]?.id;
      return id;
    }, SOON)
    .toBeDefined();
  return id ?? "";
}

/** The data of server-sent events, parsed where they are JSON. */
export function eventsIn(text: string): unknown[] {
  return text
    .split("\n\n")
    .map((event) => /^data: (.*)$/m.exec(event)?.[1])
    .filter((data) => data !== undefined)
    .map((data): unknown => (data === "[DONE]" ? data : JSON.parse(data)));
}

/** The text that a stream of chat chunks has said. */
export function textIn(text: string): string {
  return eventsIn(text)
    .map((event) => (event as { choices?: { delta?: { content?: string } }[] }).choices?.[0])
    .map((choice) => choice?.delta?.content ?? "")
    .join("");
}
