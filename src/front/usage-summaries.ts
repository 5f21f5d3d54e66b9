import { sql, type Kysely } from "kysely";
import { UNIT_NAMES, type Units } from "../core/usage.js";
import { isProject, MONTH_START } from "./ledger.js";
import type { Tables } from "./tables.js";

/** What one project spent on one model. */
export interface UsageSummary {
  readonly projectId: string;
  readonly project: string;
  /** Null for charges that were made before models were noted with them. */
  readonly modality: string | null;
  readonly model: string | null;
  /** Completed jobs, those that were free included. */
  readonly jobs: number;
  readonly units: Units;
  readonly chargedMicroUsd: number;
  /** Wall time of the attempts that completed, in milliseconds. */
  readonly gpuMs: number;
}

export interface UsageQuery {
  /** Id or name; all where absent. */
  readonly project?: string;
  /** ISO 8601; from the start of this month (UTC) where absent. */
  readonly since?: string;
  /** ISO 8601, not included; until now where absent. */
  readonly until?: string;
}

/** Units that were used at all, with their sums. */
const UNIT_SUMS = sql.join(
  UNIT_NAMES.flatMap((name) => [
    sql`${sql.lit(name)}`,
    sql`nullif(sum((counted_units ->> ${sql.lit(name)})::double precision), 0)`,
  ]),
);

/** Charges by project and model, the dearest first. */
export async function summariseUsage(
  db: Kysely<Tables>,
  { project, since, until }: UsageQuery,
): Promise<UsageSummary[]> {
  const from = since === undefined ? MONTH_START : sql`${since}::timestamptz`;
  const wanted = project === undefined ? sql`true` : isProject(project);
  const before = until === undefined ? sql`true` : sql`charges.created_at < ${until}::timestamptz`;
  const { rows } = await sql<UsageSummary>`
    SELECT charges.project_id AS "projectId", projects.name AS project, charges.modality,
      charges.model, count(*)::int AS jobs, jsonb_strip_nulls(jsonb_build_object(${UNIT_SUMS})) AS units,
      sum(charges.amount_micro_usd)::bigint AS "chargedMicroUsd",
      sum(charges.gpu_ms)::bigint AS "gpuMs"
    FROM charges JOIN projects ON projects.id = charges.project_id
    WHERE charges.created_at >= ${from} AND ${before} AND ${wanted}
    GROUP BY charges.project_id, projects.name, charges.modality, charges.model
    ORDER BY sum(charges.amount_micro_usd) DESC, projects.name, charges.model`.execute(db);
  return rows;
}
