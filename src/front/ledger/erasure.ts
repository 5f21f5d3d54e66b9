import { type Db, type Sql, sql } from "./database/sql.js";
import { JobError } from "../../core/errors.js";
import type { ArtifactStore } from "../../storage/index.js";
import { recordAction } from "./audit.js";
import { OPEN } from "./job-records.js";
import { cancelErased } from "./jobs.js";
import { isProject } from "./spending.js";
import { isoTime } from "./usage-rollup.js";

/** What an erasure removes, and how far it is. Charges stay: job ids with their units and amounts. */
export interface Erasure {
  readonly projectId: string;
  readonly project: string;
  /** Null until it was begun. */
  readonly askedAt: string | null;
  /** When nothing was left to remove. */
  readonly erasedAt: string | null;
  /** With their prompts, outputs and files. */
  readonly jobs: number;
  /** Of these, those that have not ended: they are cancelled. */
  readonly openJobs: number;
  readonly keys: number;
  readonly hasWebhookSecret: boolean;
  /** Kept. */
  readonly charges: number;
}

/** All jobs of a project, each part by an index. */
function jobsOf(projectId: Sql): Sql {
  return sql`(
    SELECT id, ended_at FROM jobs WHERE project_id = ${projectId} AND deleted_at IS NULL
    UNION ALL
    SELECT id, ended_at FROM jobs WHERE deleted_at IS NOT NULL AND project_id = ${projectId})`;
}

/** What erasing a project would remove, or has still to remove. */
export async function findErasure(db: Db, idOrName: string): Promise<Erasure> {
  const { rows } = await sql<Erasure>`
    SELECT projects.id AS "projectId", projects.name AS project,
      ${isoTime(sql`erased_at`)} AS "erasedAt", ${isoTime(sql`erasure_asked_at`)} AS "askedAt",
      webhook_secret IS NOT NULL AS "hasWebhookSecret",
      (SELECT count(*)::int FROM ${jobsOf(sql`projects.id`)} all_jobs) AS jobs,
      (SELECT count(*)::int FROM jobs WHERE project_id = projects.id AND ${OPEN}) AS "openJobs",
      (SELECT count(*)::int FROM api_keys WHERE project_id = projects.id) AS keys,
      (SELECT count(*)::int FROM charges WHERE project_id = projects.id) AS charges
    FROM projects WHERE ${isProject(idOrName)}`.execute(db);
  const [found, other] = rows;
  if (found === undefined)
    throw new JobError("not_found", `no project has the id or name ${JSON.stringify(idOrName)}`);
  if (other !== undefined)
    throw new JobError("invalid_value", `${idOrName} names several projects: give the id`);
  return found;
}

/**
 * Ends a project: its keys and its webhook secret are worth nothing from now on, its name goes, and its
 * open jobs are cancelled. Fronts remove the rest, however often they are stopped meanwhile. Asking
 * again changes nothing.
 */
export async function askErasure(db: Db, projectId: string): Promise<Erasure> {
  await db.transaction(async (trx) => {
    await sql`UPDATE projects SET erasure_asked_at = coalesce(erasure_asked_at, now()),
      webhook_secret = NULL, name = 'erased-' || id WHERE id = ${projectId}`.execute(trx);
    await sql`UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()), name = ''
      WHERE project_id = ${projectId}`.execute(trx);
    await cancelErased(trx, projectId);
  });
  return await findErasure(db, projectId);
}

const BATCH = 200;
/** A worker that has not noticed the cancel uploads for no longer than its lease. */
const LATE_UPLOADS = sql`interval '1 minute'`;

/** Removes what is left of projects that are to be erased. Safe on every replica. */
export async function eraseProjects(db: Db, store: ArtifactStore): Promise<void> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM projects
    WHERE erasure_asked_at IS NOT NULL AND erased_at IS NULL`.execute(db);
  for (const { id } of rows) {
    const isEmpty = await removeJobs(db, store, id);
    if (isEmpty) await finish(db, id);
  }
}

/** Files before rows, so that what was interrupted is found again. True when no job is left. */
async function removeJobs(db: Db, store: ArtifactStore, projectId: string): Promise<boolean> {
  for (;;) {
    const { rows } = await sql<{ id: string; is_late: boolean }>`
      SELECT id, ended_at IS NULL OR ended_at > now() - ${LATE_UPLOADS} AS is_late
      FROM ${jobsOf(sql`${projectId}`)} all_jobs ORDER BY ended_at LIMIT ${BATCH}`.execute(db);
    if (rows.length === 0) return true;
    const ids = rows.filter(({ is_late: isLate }) => !isLate).map(({ id }) => id);
    if (ids.length === 0) return false;
    await Promise.all(ids.map((id) => store.removeAll(`${id}/`)));
    await sql`DELETE FROM jobs WHERE id = ANY(${ids}::text[])`.execute(db);
  }
}

async function finish(db: Db, projectId: string): Promise<void> {
  const erased = await db.transaction(async (trx) => {
    await sql`DELETE FROM api_keys WHERE project_id = ${projectId}`.execute(trx);
    await sql`DELETE FROM rate_limits
      WHERE key IN (${`requests:${projectId}`}, ${`tokens:${projectId}`})`.execute(trx);
    const { rows } = await sql`UPDATE projects SET erased_at = now()
      WHERE id = ${projectId} AND erased_at IS NULL RETURNING id`.execute(trx);
    return rows.length === 1;
  });
  if (!erased) return;
  const action = { action: "projects.erased", target: projectId, detail: {}, outcome: "done" };
  await recordAction(db, { actor: "front", address: null, ...action });
}
