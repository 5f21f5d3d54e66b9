import { sql, type Kysely, type Transaction } from "kysely";
import type { Artifact } from "../core/artifact.js";
import { JobError } from "../core/errors.js";
import type { AdmitContext, Modality, ModelInfo } from "../core/modality.js";
import { findPrices, type PriceTable } from "../core/prices.js";
import { quote, type Quote } from "../core/usage.js";
import type { Broker } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Database } from "./database.js";
import { readOutput } from "./job-output.js";
import { findJob } from "./job-records.js";
import { withdrawJob } from "./jobs.js";
import type { Caller } from "./keys.js";
import { reserveSpending } from "./ledger.js";
import { chooseModel } from "./models.js";
import type { Outbox, OutgoingJob } from "./outbox.js";
import type { Tables } from "./tables.js";

export interface Submission {
  /** Chosen before: a worker may answer sooner than the database. */
  readonly id: string;
  readonly caller: Caller;
  readonly modality: Modality;
  readonly path: string;
  readonly body: unknown;
  readonly bodyHash: string;
  readonly idempotencyKey: string | null;
  /** The client says it has sent this before (`X-Stainless-Retry-Count` above 0). */
  readonly repeated: boolean;
  readonly traceparent: string | null;
  /** The service's own work for the caller: costs nothing and counts no tokens. */
  readonly isFree?: boolean;
}

export interface SubmitOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly models: readonly ModelInfo[];
  readonly prices: PriceTable;
  /** Longest wait of a replied job, in milliseconds. */
  readonly replyTimeoutMs: number;
  /** Throws `content_policy_violation` for what must not be made. */
  readonly checkContent: (submission: Submission, prompts: readonly string[]) => Promise<void>;
}

/** Accepts a job: committed in the ledger, confirmed by the broker, or refused without a trace. */
export type SubmitJob = (submission: Submission) => Promise<AcceptedJob>;

export interface AcceptedJob {
  /** Another than the submission's where it repeats an earlier one. */
  readonly id: string;
  readonly model: string;
  readonly request: unknown;
  readonly createdAtMs: number;
}

/** What fits a message; a longer request travels as a file. */
const MAX_MESSAGE_REQUEST_BYTES = 64 * 1024;
const OUTAGE_RETRY_SECONDS = 2;
const POLL_DEADLINE_MS = 24 * 3_600_000;

/** `video_` and 32 hexadecimal digits, for example. */
export function createJobId(
  { endpoint }: Modality,
  randomBytes: (byteLength: number) => Uint8Array,
): string {
  return `${endpoint.idPrefix}${Buffer.from(randomBytes(16)).toString("hex")}`;
}

/** Where lies what the caller sent; tokens, which name the folders of attempts, count from 1. */
export function sentFolder(jobId: string): string {
  return `${jobId}/0/`;
}

export function createSubmitJob(options: SubmitOptions): SubmitJob {
  return async (submission) => {
    const { id } = submission;
    const model = chooseModel(submission.body, submission.modality, options.models);
    if (!options.broker.connected) throw queueUnavailable();
    const forgetInputs = async (): Promise<void> => {
      await options.store.removeAll(`${id}/`);
    };
    const accepted = await acceptJob(options, submission, model).catch(async (error) => {
      await forgetInputs();
      throw error;
    });
    if (accepted.id !== id) await forgetInputs();
    else if (await isWithdrawn(options, accepted)) {
      await forgetInputs();
      throw queueUnavailable();
    }
    return accepted;
  };
}

interface Accepted extends AcceptedJob {
  /** Undefined for an earlier job. */
  readonly outgoing?: OutgoingJob;
}

async function acceptJob(
  options: SubmitOptions,
  submission: Submission,
  model: ModelInfo,
): Promise<Accepted> {
  const { database, checkContent } = options;
  const { id, modality, caller } = submission;
  const request = await modality.admit(submission.body, admitContext(options, submission, model));
  await checkContent(submission, modality.promptsOf?.(request) ?? []);
  const job = await draftJob(options, submission, { model, request });
  const insert = async (db: Kysely<Tables>): Promise<Accepted> => {
    const { outgoing, createdAtMs } = await insertJob(db, submission, job);
    return { id, model: model.id, request, createdAtMs, outgoing };
  };
  if (standsAlone(submission)) return await insert(database.kysely);
  return await database.kysely.transaction().execute(async (trx) => {
    const earlierId = await findEarlier(trx, submission);
    if (earlierId !== undefined) return { id: earlierId, model: model.id, request, createdAtMs: 0 };
    await reserveSpending(trx, caller.project, job.quote.amountMicroUsd);
    return await insert(trx);
  });
}

/** Whether one statement is enough: no earlier request to find, and no limit to keep to. */
function standsAlone({ modality, caller, idempotencyKey }: Submission): boolean {
  const isPolled = modality.endpoint.delivery === "poll";
  return !isPolled && idempotencyKey === null && caller.project.monthlyLimitMicroUsd === null;
}

function admitContext(
  { database, store }: SubmitOptions,
  { id, path, caller, modality }: Submission,
  model: ModelInfo,
): AdmitContext {
  const scope = { projectId: caller.project.id, modality: modality.name };
  return {
    model,
    path,
    saveInput: inputSaver(store, id),
    async findEarlier(earlierId) {
      const earlier = await findJob(database.kysely, scope, earlierId);
      if (earlier === undefined || !earlier.kept || earlier.state !== "completed") return undefined;
      const output = await readOutput(store, earlier);
      return output === undefined ? undefined : { request: earlier.request, output };
    },
  };
}

/** Waits for the broker; a job it did not confirm is taken back unless a worker has it already. */
async function isWithdrawn(
  { database, outbox }: SubmitOptions,
  { outgoing }: Accepted,
): Promise<boolean> {
  if (outgoing === undefined) return false;
  return await outbox.publish(outgoing).then(
    () => false,
    async () => await withdrawJob(database.kysely, outgoing.id),
  );
}

/** The job that this request repeats. Requests with the same key or body take turns here. */
async function findEarlier(
  trx: Transaction<Tables>,
  { caller, modality, bodyHash, idempotencyKey, repeated }: Submission,
): Promise<string | undefined> {
  const subject = `${caller.project.id} ${idempotencyKey ?? bodyHash}`;
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${subject}, 0))`.execute(trx);
  if (idempotencyKey !== null) {
    const { rows } = await sql<{ id: string; body_hash: string }>`SELECT id, body_hash FROM jobs
      WHERE project_id = ${caller.project.id} AND idempotency_key = ${idempotencyKey}`.execute(trx);
    if (rows[0] !== undefined && rows[0].body_hash !== bodyHash)
      throw conflict("its first request had another body");
    return rows[0]?.id;
  }
  if (!repeated || modality.endpoint.delivery !== "poll") return undefined;
  const { rows } = await sql<{ id: string }>`SELECT id FROM jobs
    WHERE api_key_id = ${caller.apiKeyId} AND modality = ${modality.name}
      AND body_hash = ${bodyHash} AND created_at > now() - interval '10 minutes'
      AND deleted_at IS NULL
    ORDER BY seq DESC LIMIT 1`.execute(trx);
  return rows[0]?.id;
}

interface NewJob {
  readonly model: string;
  readonly request: unknown;
  /** The request as JSON. */
  readonly text: string;
  readonly requestFile: Artifact | null;
  readonly quote: Quote;
  readonly tier: string;
  readonly kept: boolean;
  readonly reportTo: string | null;
  readonly deadlineMs: number;
}

async function draftJob(
  { store, outbox, prices: table, replyTimeoutMs }: SubmitOptions,
  { id, modality, isFree = false }: Submission,
  { model, request }: { readonly model: ModelInfo; readonly request: unknown },
): Promise<NewJob> {
  const { name, endpoint } = modality;
  const text = JSON.stringify(request);
  const tier = modality.tier?.(request);
  const row = { modality: name, model: model.id, ...(tier !== undefined && { tier }) };
  const prices = isFree ? {} : findPrices(table, row);
  const isPolled = endpoint.delivery === "poll";
  const tooLong = Buffer.byteLength(text) > MAX_MESSAGE_REQUEST_BYTES;
  return {
    model: model.id,
    request,
    text,
    requestFile: tooLong ? await saveRequest(store, id, text) : null,
    quote: quote(prices, modality.mostUnits(request, model)),
    tier: tier ?? "",
    kept: isPolled || modality.isStored?.(request) === true,
    reportTo: isPolled ? null : outbox.reportTo,
    deadlineMs: isPolled ? POLL_DEADLINE_MS : replyTimeoutMs,
  };
}

async function saveRequest(store: ArtifactStore, id: string, text: string): Promise<Artifact> {
  const label = {
    id: `${sentFolder(id)}request.json`,
    variant: "request",
    mediaType: "application/json",
  };
  return await store.putBytes(label, Buffer.from(text));
}

/** The outbox row stays locked while this replica publishes the job itself. */
async function insertJob(
  db: Kysely<Tables>,
  { id, caller, modality, idempotencyKey, bodyHash, traceparent }: Submission,
  job: NewJob,
): Promise<{ readonly outgoing: OutgoingJob; readonly createdAtMs: number }> {
  const {
    model,
    request,
    text,
    requestFile,
    quote: quoted,
    tier,
    kept,
    reportTo,
    deadlineMs,
  } = job;
  const file = requestFile === null ? null : JSON.stringify(requestFile);
  const work = Object.values(quoted.units).reduce((sum, units) => sum + units, 0);
  const { rows } = await sql<{ expires_at_ms: number; created_at_ms: number }>`
    WITH job AS (
      INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, request_file, tier,
        kept, report_to, prices, quoted_units, work, amount_micro_usd, idempotency_key, body_hash, traceparent,
        deadline_at, republish_after)
      VALUES (${id}, ${caller.project.id}, ${caller.apiKeyId}, ${modality.name}, ${model},
        ${text}::jsonb, ${file}::jsonb, ${tier}, ${kept}, ${reportTo}, ${JSON.stringify(quoted.prices)}::jsonb,
        ${JSON.stringify(quoted.units)}::jsonb, ${work}::double precision, ${quoted.amountMicroUsd},
        ${idempotencyKey}, ${bodyHash}, ${traceparent},
        now() + ${deadlineMs}::int * interval '1 millisecond', now() + interval '60 seconds')
      RETURNING id, deadline_at, created_at
    ), outgoing AS (
      INSERT INTO outbox (job_id, locked_until) SELECT id, now() + interval '5 seconds' FROM job
    )
    SELECT (extract(epoch FROM deadline_at) * 1000)::bigint AS expires_at_ms,
      (extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms FROM job`.execute(db);
  const { expires_at_ms: expiresAtMs = 0, created_at_ms: createdAtMs = 0 } = rows[0] ?? {};
  const outgoing = {
    id,
    modality: modality.name,
    model,
    request,
    request_file: requestFile,
    report_to: reportTo,
    expires_at_ms: expiresAtMs,
    traceparent,
  };
  return { outgoing, createdAtMs };
}

function inputSaver(store: ArtifactStore, jobId: string): AdmitContext["saveInput"] {
  let saved = 0;
  return async (bytes, mediaType) => {
    saved += 1;
    const id = `${sentFolder(jobId)}input-${saved}.${mediaType.replace(/^.*\//, "").replace(/\W/g, "")}`;
    return await store.putBytes({ id, variant: "input", mediaType }, bytes);
  };
}

function queueUnavailable(): JobError {
  return new JobError("service_unavailable", "The queue takes no jobs at the moment.", {
    retryAfterSeconds: OUTAGE_RETRY_SECONDS,
  });
}

function conflict(reason: string): JobError {
  return new JobError("idempotency_conflict", `This Idempotency-Key was used before: ${reason}.`);
}
