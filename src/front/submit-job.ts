import { sql, type Transaction } from "kysely";
import { JobError } from "../core/errors.js";
import type { AdmitContext, Modality, ModelInfo } from "../core/modality.js";
import type { Quote } from "../core/usage.js";
import type { Broker } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Database } from "./database.js";
import type { JobRecord } from "./job-record.js";
import { findJob } from "./job-records.js";
import { withdrawJob } from "./jobs.js";
import type { Caller } from "./keys.js";
import { reserveSpending } from "./ledger.js";
import type { Outbox, OutgoingJob } from "./outbox.js";
import type { Tables } from "./tables.js";

export interface Submission {
  readonly caller: Caller;
  readonly modality: Modality;
  readonly body: unknown;
  readonly bodyHash: string;
  readonly idempotencyKey: string | null;
  /** The client says it has sent this before (`X-Stainless-Retry-Count` above 0). */
  readonly repeated: boolean;
  readonly traceparent: string | null;
}

export interface SubmitOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly models: readonly ModelInfo[];
  readonly randomBytes: (byteLength: number) => Uint8Array;
}

/** Accepts a job: committed in the ledger, confirmed by the broker, or refused without a trace. */
export type SubmitJob = (submission: Submission) => Promise<JobRecord>;

const MAX_REQUEST_BYTES = 64 * 1024;
const OUTAGE_RETRY_SECONDS = 2;

export function createSubmitJob(options: SubmitOptions): SubmitJob {
  return async (submission) => {
    const model = chooseModel(submission, options.models);
    if (!options.broker.connected) throw queueUnavailable();
    const { object } = submission.modality.endpoint;
    const id = `${object}_${Buffer.from(options.randomBytes(16)).toString("hex")}`;
    const forgetInputs = async (): Promise<void> => {
      await options.store.removeAll(`${id}/`);
    };
    const accepted = await acceptJob(options, submission, { id, model }).catch(async (error) => {
      await forgetInputs();
      throw error;
    });
    if (accepted.record.id !== id) await forgetInputs();
    else if (await isWithdrawn(options, accepted)) {
      await forgetInputs();
      throw queueUnavailable();
    }
    return accepted.record;
  };
}

interface Accepted {
  readonly record: JobRecord;
  readonly outgoing: OutgoingJob | undefined;
}

interface Draft {
  readonly id: string;
  readonly model: ModelInfo;
}

async function acceptJob(
  { database, store }: SubmitOptions,
  submission: Submission,
  { id, model }: Draft,
): Promise<Accepted> {
  const { modality, caller, body } = submission;
  const request = await modality.admit(body, { model, saveInput: inputSaver(store, id) });
  const quote = modality.quote(request);
  const scope = { projectId: caller.project.id, modality: modality.name };
  return await database.kysely.transaction().execute(async (trx) => {
    const earlierId = await findEarlier(trx, submission);
    if (earlierId === undefined) await reserveSpending(trx, caller.project, quote.amountMicroUsd);
    const outgoing =
      earlierId === undefined
        ? await insertJob(trx, { id, model: model.id, submission, request, quote })
        : undefined;
    const record = await findJob(trx, scope, earlierId ?? id);
    if (record === undefined) throw conflict("its first request was for another endpoint");
    return { record, outgoing };
  });
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

function chooseModel({ body, modality }: Submission, models: readonly ModelInfo[]): ModelInfo {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new JobError("invalid_value", "the body must be an object");
  }
  const id = "model" in body ? body.model : undefined;
  if (id === undefined || id === "")
    throw new JobError("missing_required_parameter", "model is required", { param: "model" });
  if (typeof id !== "string")
    throw new JobError("invalid_value", "model must be a string", { param: "model" });
  const model = models.find((known) => known.id === id && known.modality === modality.name);
  if (model !== undefined) return model;
  throw new JobError("model_not_found", `no model ${JSON.stringify(id.slice(0, 64))} serves here`, {
    param: "model",
  });
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
  if (!repeated) return undefined;
  const { rows } = await sql<{ id: string }>`SELECT id FROM jobs
    WHERE api_key_id = ${caller.apiKeyId} AND modality = ${modality.name}
      AND body_hash = ${bodyHash} AND created_at > now() - interval '10 minutes'
      AND deleted_at IS NULL
    ORDER BY seq DESC LIMIT 1`.execute(trx);
  return rows[0]?.id;
}

interface NewJob {
  readonly id: string;
  readonly model: string;
  readonly submission: Submission;
  readonly request: unknown;
  readonly quote: Quote;
}

/** The outbox row stays locked while this replica publishes the job itself. */
async function insertJob(
  trx: Transaction<Tables>,
  { id, model, submission, request, quote }: NewJob,
): Promise<OutgoingJob> {
  const { caller, modality, idempotencyKey, bodyHash, traceparent } = submission;
  const text = JSON.stringify(request);
  if (Buffer.byteLength(text) > MAX_REQUEST_BYTES)
    throw new JobError(
      "payload_too_large",
      `the request must be at most ${MAX_REQUEST_BYTES} bytes`,
    );
  const { rows } = await sql<{ expires_at_ms: number }>`
    WITH job AS (
      INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, unit, unit_micro_usd,
        units, amount_micro_usd, idempotency_key, body_hash, traceparent, deadline_at,
        republish_after)
      VALUES (${id}, ${caller.project.id}, ${caller.apiKeyId}, ${modality.name}, ${model},
        ${text}::jsonb, ${quote.unit}, ${quote.microUsdPerUnit}, ${quote.units},
        ${quote.amountMicroUsd}, ${idempotencyKey}, ${bodyHash}, ${traceparent},
        now() + interval '24 hours', now() + interval '60 seconds')
      RETURNING id, deadline_at
    ), outgoing AS (
      INSERT INTO outbox (job_id, locked_until) SELECT id, now() + interval '5 seconds' FROM job
    )
    SELECT (extract(epoch FROM deadline_at) * 1000)::bigint AS expires_at_ms FROM job`.execute(trx);
  const expiresAtMs = rows[0]?.expires_at_ms ?? 0;
  return { id, modality: modality.name, model, request, expires_at_ms: expiresAtMs, traceparent };
}

function inputSaver(store: ArtifactStore, jobId: string): AdmitContext["saveInput"] {
  let saved = 0;
  return async (bytes, mediaType) => {
    saved += 1;
    const id = `${jobId}/0/input-${saved}.${mediaType.replace(/^.*\//, "").replace(/\W/g, "")}`;
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
