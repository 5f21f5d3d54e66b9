import { sql, type Kysely } from "kysely";
import type { Artifact } from "../../core/artifact.js";
import type { Quote } from "../../core/usage.js";
import { toMicroUsd } from "./amounts.js";
import type { OutgoingJob } from "./outbox.js";
import type { Tables } from "./database/tables.js";
import { AHEAD_IN_LANE, SERVED_TURN } from "./turns.js";

/** What the ledger stores of an accepted request. */
export interface NewJob {
  readonly id: string;
  readonly projectId: string;
  readonly apiKeyId: string;
  readonly modality: string;
  readonly model: string;
  readonly request: unknown;
  /** Characters of the request as JSON. */
  readonly textLength: number;
  readonly requestFile: Artifact | null;
  readonly quote: Quote;
  readonly tier: string;
  readonly kept: boolean;
  readonly reportTo: string | null;
  readonly deadlineMs: number;
  /** Most released jobs of its model that nobody has claimed yet. */
  readonly room: number;
  readonly idempotencyKey: string | null;
  readonly bodyHash: string;
  readonly traceparent: string | null;
  readonly webhookUrl: string | null;
}

export interface InsertedJob {
  /** Undefined for a job that waits for its turn: nothing is to be published. */
  readonly outgoing: OutgoingJob | undefined;
  readonly createdAtMs: number;
}

interface InsertedRow {
  readonly id: string;
  readonly expires_at_ms: number;
  readonly created_at_ms: number;
  readonly is_released: boolean;
}

/**
 * Jobs and their outbox rows in one statement, in order. A row stays locked while this replica publishes
 * the job itself; there is none for a job that waits for its turn. The release to the queue counts what
 * was released before and, in order, what comes with it.
 */
export async function insertJobs(
  db: Kysely<Tables>,
  jobs: readonly NewJob[],
): Promise<InsertedJob[]> {
  const { rows } = await sql<InsertedRow>`
    WITH new AS (
      SELECT *, row_number() OVER (PARTITION BY modality, model ORDER BY nth) AS nth_of_lane
      FROM jsonb_to_recordset(${JSON.stringify(jobs.map(toRow))}::jsonb) AS new (nth int, id text,
        project_id text, api_key_id text, modality text, model text, request jsonb,
        request_file jsonb, tier text, kept boolean, report_to text, prices jsonb,
        quoted_units jsonb, work double precision, amount_nano_usd bigint, idempotency_key text,
        body_hash text, traceparent text, webhook_url text, deadline_ms bigint, room int)
    ), lane AS (
      SELECT modality, model, ${SERVED_TURN} AS served_turn, ${AHEAD_IN_LANE} AS ahead
      FROM (SELECT modality, model, max(room) AS room FROM new GROUP BY modality, model) lane
    ), job AS (
      INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, request_file, tier,
        kept, report_to, prices, quoted_units, work, amount_nano_usd, amount_micro_usd,
        idempotency_key, body_hash, traceparent, turn, released_at, webhook_url, webhook_at, deadline_at, republish_after)
      SELECT id, project_id, api_key_id, modality, model, coalesce(request, 'null'::jsonb), request_file, tier,
        kept, report_to, prices, quoted_units, work, amount_nano_usd, ${toMicroUsd(sql`amount_nano_usd`)},
        idempotency_key, body_hash, traceparent, served_turn, CASE WHEN ahead + nth_of_lane <= room THEN now() END, webhook_url,
        CASE WHEN webhook_url IS NOT NULL THEN now() END,
        now() + deadline_ms * interval '1 millisecond', now() + interval '60 seconds'
      FROM new JOIN lane USING (modality, model) ORDER BY nth
      RETURNING id, deadline_at, created_at, released_at
    ), outgoing AS (
      INSERT INTO outbox (job_id, locked_until)
      SELECT id, now() + interval '5 seconds' FROM job WHERE released_at IS NOT NULL
    )
    SELECT id, (extract(epoch FROM deadline_at) * 1000)::bigint AS expires_at_ms,
      (extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
      released_at IS NOT NULL AS is_released FROM job`.execute(db);
  const inserted = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job) => toInserted(job, inserted.get(job.id)));
}

function toRow(job: NewJob, nth: number) {
  return {
    nth,
    id: job.id,
    project_id: job.projectId,
    api_key_id: job.apiKeyId,
    modality: job.modality,
    model: job.model,
    request: job.request,
    request_file: job.requestFile,
    tier: job.tier,
    kept: job.kept,
    report_to: job.reportTo,
    prices: job.quote.prices,
    quoted_units: job.quote.units,
    work: Object.values(job.quote.units).reduce((sum, units) => sum + units, 0),
    amount_nano_usd: job.quote.amountNanoUsd,
    idempotency_key: job.idempotencyKey,
    body_hash: job.bodyHash,
    traceparent: job.traceparent,
    webhook_url: job.webhookUrl,
    deadline_ms: job.deadlineMs,
    room: job.room,
  };
}

function toInserted(job: NewJob, row: InsertedRow | undefined): InsertedJob {
  const createdAtMs = row?.created_at_ms ?? 0;
  if (row?.is_released !== true) return { outgoing: undefined, createdAtMs };
  const outgoing = {
    id: job.id,
    modality: job.modality,
    model: job.model,
    request: job.request,
    request_file: job.requestFile,
    report_to: job.reportTo,
    expires_at_ms: row.expires_at_ms,
    traceparent: job.traceparent,
    project_id: job.projectId,
  };
  return { outgoing, createdAtMs };
}
