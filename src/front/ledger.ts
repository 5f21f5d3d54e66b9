import { type RawBuilder, sql, type Transaction } from "kysely";
import { JobError } from "../core/errors.js";
import type { Project } from "./keys.js";
import type { Tables } from "./tables.js";

/** The first moment of the calendar month (UTC), as SQL. */
export const MONTH_START = sql`(date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`;

/** Whether a row `projects` is the one that an operator means by its id or its name. */
export function isProject(idOrName: string): RawBuilder<unknown> {
  return sql`(projects.id = ${idOrName} OR projects.name = ${idOrName})`;
}

/**
 * Refuses a job that would take the project past its monthly limit. An open job's quote counts as
 * reserved, so the transition that ends a job settles or releases it in the same statement; the
 * project's row is locked, so two requests cannot both take the last of the money.
 */
export async function reserveSpending(
  trx: Transaction<Tables>,
  project: Pick<Project, "id" | "monthlyLimitMicroUsd">,
  amountMicroUsd: number,
): Promise<void> {
  if (project.monthlyLimitMicroUsd === null) return;
  await sql`SELECT id FROM projects WHERE id = ${project.id} FOR UPDATE`.execute(trx);
  const { rows } = await sql<{ committed: number; seconds_left: number }>`
    SELECT (
      coalesce((SELECT sum(amount_micro_usd) FROM charges
        WHERE project_id = ${project.id} AND created_at >= ${MONTH_START}), 0)
      + coalesce((SELECT sum(amount_micro_usd) FROM jobs
        WHERE project_id = ${project.id} AND state IN ('queued', 'in_progress')), 0)
    )::bigint AS committed,
    ceil(extract(epoch FROM ${MONTH_START} + interval '1 month' - now()))::int AS seconds_left
  `.execute(trx);
  const { committed = 0, seconds_left: secondsLeft = 60 } = rows[0] ?? {};
  if (committed + amountMicroUsd <= project.monthlyLimitMicroUsd) return;
  throw new JobError(
    "insufficient_quota",
    `The project's monthly limit of ${toUsd(project.monthlyLimitMicroUsd)} does not cover this job: ` +
      `${toUsd(committed)} is spent or reserved, the job costs ${toUsd(amountMicroUsd)}.`,
    { retryAfterSeconds: secondsLeft },
  );
}

function toUsd(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(2)}`;
}
