import type { Db } from "./database/sql.js";
import type { Artifact } from "../../core/artifact.js";
import type { ServiceTier } from "../../core/service-tier.js";
import type { Quote } from "../../core/usage.js";
import type { OutgoingJob } from "./outbox.js";
import { readStatement } from "./statements.js";

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
  readonly serviceTier: ServiceTier;
  readonly kept: boolean;
  readonly reportTo: string | null;
  readonly deadlineMs: number;
  /** Until a worker must have begun it; null where any time will do. */
  readonly startDeadlineMs: number | null;
  /** Most released jobs of its queue that nobody has claimed yet. */
  readonly room: number;
  readonly idempotencyKey: string | null;
  readonly bodyHash: string;
  readonly traceparent: string | null;
  readonly webhookUrl: string | null;
}

export interface InsertedJob {
  /** Undefined for a job that waits in the ledger: nothing is to be published. */
  readonly outgoing: OutgoingJob | undefined;
  readonly createdAtMs: number;
}

interface InsertedRow {
  readonly id: string;
  readonly expires_at_ms: number;
  readonly created_at_ms: number;
  readonly is_released: boolean;
}

const submit = readStatement<{ readonly jobs: string }, InsertedRow>("submit");

/** Inserts jobs in order; those that wait in the ledger have nothing to publish. */
export async function insertJobs(db: Db, jobs: readonly NewJob[]): Promise<InsertedJob[]> {
  const rows = await submit(db, { jobs: JSON.stringify(jobs.map(toRow)) });
  const inserted = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job) => toInserted(job, inserted.get(job.id)));
}

/** Inserts a failed job's request again, as a job of its own that waits in the ledger for the fair queue. */
export const insertRetry = readStatement<
  { readonly jobId: string; readonly newId: string },
  object
>("retry");

/** As submit.sql names its fields. */
function toRow({ quote, ...job }: NewJob, nth: number) {
  const work = Object.values(quote.units).reduce((sum, units) => sum + units, 0);
  return {
    ...job,
    nth,
    work,
    prices: quote.prices,
    quotedUnits: quote.units,
    amountNanoUsd: quote.amountNanoUsd,
  };
}

function toInserted(job: NewJob, row: InsertedRow | undefined): InsertedJob {
  const createdAtMs = row?.created_at_ms ?? 0;
  if (row?.is_released !== true) return { outgoing: undefined, createdAtMs };
  const outgoing = {
    id: job.id,
    modality: job.modality,
    model: job.model,
    service_tier: job.serviceTier,
    request: job.request,
    request_file: job.requestFile,
    report_to: job.reportTo,
    expires_at_ms: row.expires_at_ms,
    traceparent: job.traceparent,
    project_id: job.projectId,
  };
  return { outgoing, createdAtMs };
}
