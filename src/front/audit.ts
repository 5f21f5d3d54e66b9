import { sql, type Kysely } from "kysely";
import type { Logger } from "pino";
import { JobError } from "../core/errors.js";
import type { Operations } from "./operations.js";
import type { Tables } from "./tables.js";

/** Who operates, and from where. */
export interface Actor {
  /** Name of the admin key; `cli:` and the system's user where the command line works on the database. */
  readonly name: string;
  /** Network address of the caller; null at the command line. */
  readonly address: string | null;
}

/** One change that somebody asked for. Never holds a key, a secret or a prompt. */
export interface AdminAction {
  readonly actor: string;
  readonly address: string | null;
  /** `keys.create`, for example. */
  readonly action: string;
  /** Id or name of what was changed. */
  readonly target: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /** `done`, `unchanged`, or the code of the error. */
  readonly outcome: string;
}

export interface RecordedAction extends AdminAction {
  readonly id: number;
  /** ISO 8601. */
  readonly at: string;
}

export interface ActionsQuery {
  readonly limit: number;
  /** ISO 8601. */
  readonly since?: string;
  readonly actor?: string;
}

/** Into the table, and as a line of the log. */
export async function recordAction(
  db: Kysely<Tables>,
  action: AdminAction,
  log?: Pick<Logger, "info">,
): Promise<void> {
  log?.info({ admin: action }, "admin action");
  await db
    .insertInto("admin_actions")
    .values({ ...action, detail: JSON.stringify(action.detail) })
    .execute();
}

/** Newest first. */
export async function listActions(
  db: Kysely<Tables>,
  { limit, since, actor }: ActionsQuery,
): Promise<RecordedAction[]> {
  const { rows } = await sql<RecordedAction>`
    SELECT id, to_json(at) AS at, actor, address, action, target, detail, outcome FROM admin_actions
    WHERE ${since === undefined ? sql`true` : sql`at >= ${since}::timestamptz`}
      AND ${actor === undefined ? sql`true` : sql`actor = ${actor}`}
    ORDER BY id DESC LIMIT ${limit}`.execute(db);
  return rows;
}

type Note = (action: AdminAction) => Promise<void>;

/** The same operations, of which those that change anything, or tell a secret, are noted with their outcome. */
export function auditedOperations(operations: Operations, actor: Actor, note: Note): Operations {
  const audited = async <T>(
    action: string,
    { target, detail = {} }: { readonly target: string; readonly detail?: AdminAction["detail"] },
    run: () => Promise<T>,
  ): Promise<T> => {
    const base = { actor: actor.name, address: actor.address, action, target, detail };
    try {
      const result = await run();
      await note({ ...base, outcome: result === false ? "unchanged" : "done" });
      return result;
    } catch (thrown) {
      const outcome = thrown instanceof JobError ? thrown.code : "server_error";
      await note({ ...base, outcome });
      throw thrown;
    }
  };
  const { deadLetters } = operations;
  return {
    ...operations,
    cancelJob: (id) =>
      audited("jobs.cancel", { target: id }, async () => await operations.cancelJob(id)),
    retryJob: (id) =>
      audited("jobs.retry", { target: id }, async () => await operations.retryJob(id)),
    deadLetters: {
      list: (limit) => deadLetters.list(limit),
      replay: (id) =>
        audited("dead-letters.replay", { target: id }, async () => await deadLetters.replay(id)),
      drop: (id) =>
        audited("dead-letters.drop", { target: id }, async () => await deadLetters.drop(id)),
    },
    createKey: (project, name) =>
      audited("keys.create", { target: project, detail: { name } }, async () => {
        return await operations.createKey(project, name);
      }),
    revokeKey: (id) =>
      audited("keys.revoke", { target: id }, async () => await operations.revokeKey(id)),
    setProject: (name, limits) =>
      audited("projects.set", { target: name, detail: { ...limits } }, async () => {
        return await operations.setProject(name, limits);
      }),
    webhookSecret: (name, renew) =>
      audited("projects.webhook-secret", { target: name, detail: { renew } }, async () => {
        return await operations.webhookSecret(name, renew);
      }),
    eraseProject: (id) =>
      audited("projects.erase", { target: id }, async () => await operations.eraseProject(id)),
    drainWorker: (id, drain) =>
      audited("workers.drain", { target: id, detail: { drain } }, async () => {
        await operations.drainWorker(id, drain);
      }),
  };
}
