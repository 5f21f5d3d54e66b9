import { type Db, type Sql, sql } from "./database/sql.js";
import { JobError } from "../../core/errors.js";
import { nanoUsdOf, ROLLED_UNTIL, startOf } from "./usage-rollup.js";
import type { Project } from "./keys.js";

const MONTH_START = startOf("month");

/** Whether a row `projects` is the one that an operator means by its id or its name. */
export function isProject(idOrName: string): Sql {
  return sql`(projects.id = ${idOrName} OR projects.name = ${idOrName})`;
}

/**
 * Refuses a job that would take the project past its monthly limit. An open job's quote counts as
 * reserved, so the transition that ends a job settles or releases it in the same statement; the
 * project's row is locked, so two requests cannot both take the last of the money.
 */
export async function reserveSpending(
  trx: Db,
  project: Pick<Project, "id" | "monthlyLimitMicroUsd">,
  amountNanoUsd: number,
): Promise<void> {
  if (project.monthlyLimitMicroUsd === null) return;
  await sql`SELECT id FROM projects WHERE id = ${project.id} FOR UPDATE`.execute(trx);
  const { rows } = await sql<{ committed: number; seconds_left: number }>`
    SELECT (${spentSince(sql`${project.id}`, MONTH_START)}
      + coalesce((SELECT sum(${nanoUsdOf("jobs")}) FROM jobs
        WHERE project_id = ${project.id} AND state IN ('queued', 'in_progress')), 0)
    )::bigint AS committed,
    ceil(extract(epoch FROM ${MONTH_START} + interval '1 month' - now()))::int AS seconds_left
  `.execute(trx);
  const { committed = 0, seconds_left: secondsLeft = 60 } = rows[0] ?? {};
  const limit = project.monthlyLimitMicroUsd * 1_000;
  if (committed + amountNanoUsd <= limit) return;
  throw new JobError(
    "insufficient_quota",
    `The project's monthly limit of ${toUsd(limit)} does not cover this job: ` +
      `${toUsd(committed)} is spent or reserved, the job costs ${toUsd(amountNanoUsd)}.`,
    { retryAfterSeconds: secondsLeft },
  );
}

/** Nano-dollars that a project was charged since the first moment of a day: sums, and what came since. */
function spentSince(projectId: Sql, start: Sql): Sql {
  return sql`(coalesce((SELECT sum(amount_nano_usd) FROM usage_days
      WHERE project_id = ${projectId} AND day >= ${start}), 0)
    + coalesce((SELECT sum(${nanoUsdOf("charges")}) FROM charges
      WHERE project_id = ${projectId} AND created_at >= greatest(${start}, ${ROLLED_UNTIL})), 0))`;
}

/** With all digits that are not 0, two at least. */
function toUsd(nanoUsd: number): string {
  return `$${(nanoUsd / 1_000_000_000).toFixed(9).replace(/0{1,7}$/, "")}`;
}
