import { sql, type Kysely } from "kysely";
import type { JobFailure } from "../../core/job.js";
import type { Units } from "../../core/usage.js";
import { toMicroUsd } from "./amounts.js";
import { CANCELLED, notify, OPEN } from "./job-moves.js";
import type { Tables } from "./database/tables.js";

/** What of an answer was written to its caller's connection, and its price. */
export interface DeliveredCharge {
  readonly units: Units;
  readonly amountNanoUsd: number;
}

export interface LetGo {
  /** It still ran: its worker is to be told. */
  readonly wasOpen: boolean;
  /** The delivered part was charged by this call. */
  readonly isCharged: boolean;
}

/**
 * Ends a job whose caller has gone, and charges for what was delivered of its answer, in one statement:
 * once, as for a completed job. The same where somebody else has cancelled it before. A job that has
 * completed was charged for as a whole, and one that failed costs nothing.
 */
export async function letGoOfJob(
  db: Kysely<Tables>,
  {
    jobId,
    projectId,
    charge: { units, amountNanoUsd },
  }: { readonly jobId: string; readonly projectId: string; readonly charge: DeliveredCharge },
): Promise<LetGo> {
  const failure: JobFailure = { code: "cancelled", message: "The job was cancelled." };
  const isDelivered = Object.values(units).some((count) => count > 0);
  const { rows } = await sql<LetGo>`
    WITH let_go AS (
      UPDATE jobs SET state = 'failed', failure = ${JSON.stringify(failure)}::jsonb,
        ended_at = now(), lease_until = NULL, worker_id = NULL
      WHERE id = ${jobId} AND project_id = ${projectId} AND ${OPEN}
      RETURNING id, ${notify(sql`id`)}
    ), charged AS (
      INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, prices,
        counted_units, amount_nano_usd, amount_micro_usd, gpu_ms)
      SELECT id, project_id, api_key_id, modality, model, tier, prices,
        ${JSON.stringify(units)}::jsonb, ${amountNanoUsd}::bigint,
        ${toMicroUsd(sql`${amountNanoUsd}::bigint`)}, 0
      FROM jobs WHERE ${isDelivered}::boolean AND id = ${jobId} AND project_id = ${projectId}
        AND (EXISTS (SELECT FROM let_go) OR (state = 'failed' AND ${CANCELLED}))
      ON CONFLICT (job_id) DO NOTHING
      RETURNING job_id
    )
    SELECT EXISTS (SELECT FROM let_go) AS "wasOpen",
      EXISTS (SELECT FROM charged) AS "isCharged"`.execute(db);
  return rows[0] ?? { wasOpen: false, isCharged: false };
}
