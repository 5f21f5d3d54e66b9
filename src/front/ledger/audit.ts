import type { Logger } from "pino";
import { type Db, sql } from "./database/sql.js";

/** Who operates, and from where. */
export interface Actor {
  /** Name of the admin key; `cli:` and the system's user where the command line works on the database. */
  readonly name: string;
  /** Network address of the caller; null at the command line. */
  readonly address: string | null;
}

/** One change by an operator. Never holds a key, a secret or a prompt. */
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
  db: Db,
  action: AdminAction,
  log?: Pick<Logger, "info">,
): Promise<void> {
  log?.info({ admin: action }, "admin action");
  const { actor, address, action: name, target, detail, outcome } = action;
  await sql`INSERT INTO admin_actions (actor, address, action, target, detail, outcome)
    VALUES (${actor}, ${address}, ${name}, ${target}, ${JSON.stringify(detail)}, ${outcome})`.execute(
    db,
  );
}

/** Newest first. */
export async function listActions(
  db: Db,
  { limit, since, actor }: ActionsQuery,
): Promise<RecordedAction[]> {
  const { rows } = await sql<RecordedAction>`
    SELECT id, to_json(at) AS at, actor, address, action, target, detail, outcome FROM admin_actions
    WHERE ${since === undefined ? sql`true` : sql`at >= ${since}::timestamptz`}
      AND ${actor === undefined ? sql`true` : sql`actor = ${actor}`}
    ORDER BY id DESC LIMIT ${limit}`.execute(db);
  return rows;
}
