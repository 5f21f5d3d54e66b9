import { sql, type Kysely } from "kysely";
import { JobError } from "../../core/errors.js";
import { insertRetry, nanoUsdOf, reserveSpending, type Tables } from "../ledger/index.js";
import { unknownJob } from "./job-summaries.js";

/** The job that does over what a failed one did not. */
export interface RetriedJob {
  readonly id: string;
  /** The failed one, which stays as it is. */
  readonly retryOf: string;
}

interface Failed {
  readonly state: string;
  readonly project_id: string;
  readonly monthly_limit_micro_usd: number | null;
  readonly amount_nano_usd: number;
  readonly is_waited_for: boolean;
  readonly has_files: boolean;
  readonly is_deleted: boolean;
}

/**
 * Accepts a failed job's request again, as a job of its own: an end state is final, its webhook was
 * sent, its charge is nothing. The new job has the old one's key, prices and quote, is charged when it
 * completes like any other, and waits in the ledger for its project's turn. Throws `invalid_value` for
 * what cannot be done over and `insufficient_quota` where the project's limit does not cover it.
 */
export async function retryJob(
  db: Kysely<Tables>,
  id: string,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<RetriedJob> {
  const newId = `${id.replace(/_[^_]*$/, "")}_${Buffer.from(randomBytes(16)).toString("hex")}`;
  return await db.transaction().execute(async (trx) => {
    const failed = await findFailed(trx, id);
    const project = {
      id: failed.project_id,
      monthlyLimitMicroUsd: failed.monthly_limit_micro_usd,
    };
    await reserveSpending(trx, project, failed.amount_nano_usd);
    await insertRetry(trx, { jobId: id, newId });
    return { id: newId, retryOf: id };
  });
}

/** A failed job that can be done over. */
async function findFailed(db: Kysely<Tables>, id: string): Promise<Failed> {
  const { rows } = await sql<Failed>`
    SELECT state, project_id, monthly_limit_micro_usd, ${nanoUsdOf("jobs")} AS amount_nano_usd,
      report_to IS NOT NULL AS is_waited_for,
      (request_file IS NOT NULL AND request_file <> 'null'::jsonb)
        OR strpos(request::text, jobs.id || '/') > 0 AS has_files,
      deleted_at IS NOT NULL AS is_deleted
    FROM jobs JOIN projects ON projects.id = jobs.project_id WHERE jobs.id = ${id}`.execute(db);
  const [job] = rows;
  if (job === undefined || job.is_deleted) throw unknownJob(id);
  if (job.state !== "failed")
    throw new JobError(
      "invalid_value",
      `only a failed job can be done over, ${id} is ${job.state}`,
    );
  if (job.is_waited_for)
    throw new JobError(
      "invalid_value",
      `the caller who waited for ${id} has gone: nobody would get it`,
    );
  if (job.has_files)
    throw new JobError(
      "invalid_value",
      `the files sent with ${id} went when it failed: send it again`,
    );
  return job;
}
