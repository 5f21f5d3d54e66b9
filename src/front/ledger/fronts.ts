import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { type Db, sql } from "./database/sql.js";
import type { Database } from "./database/database.js";
import { isoTime } from "./usage-rollup.js";
import { abandonReplies } from "./jobs.js";
import { messageOf } from "../../core/errors.js";
import { every } from "../../core/async/every.js";

/** How often a front announces itself, in milliseconds. */
const ANNOUNCE_MS = 5_000;
/** A front without an announcement for so long has gone, in milliseconds. */
const GONE_MS = 30_000;
/** Longest pause between two announcements without a gap: three of them, in milliseconds. */
const GAP_MS = 15_000;

/** A replica, as the others and its operator know it. */
export interface FrontSummary {
  readonly id: string;
  /** Where workers reach it: the `reportTo` of the jobs whose callers it holds. */
  readonly grpcAddress: string;
  /** `gone`: it has left without a word. */
  readonly state: "ready" | "gone";
  /** Callers who wait for a job's answer there. */
  readonly waiting: number;
  /** ISO 8601. */
  readonly seenAt: string;
}

export interface FrontPresenceOptions {
  readonly database: Database;
  /** gRPC address of this replica. */
  readonly grpcAddress: string;
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
}

/** Announces this front, now and every 5 s. */
export async function keepFrontPresence({
  database: db,
  grpcAddress,
  log,
  now,
}: FrontPresenceOptions) {
  const id = `${hostname()}-${randomBytes(4).toString("hex")}`;
  const own = watchAnnouncements(now);
  const announce = async (): Promise<void> => {
    await noteFront(db, id, grpcAddress);
    own.noteOne();
  };
  const onError = (error: unknown): void =>
    log.warn({ message: messageOf(error) }, "front not announced, trying again");
  await announce();
  const repeating = every({ intervalMs: ANNOUNCE_MS, run: announce, onError });
  return {
    /** Whether the silence of another front means that it has gone. */
    maySayGone: own.maySayGone,
    /** Ends the jobs whose callers waited here, and is known no more. */
    leave: async (): Promise<void> => {
      await repeating.stop();
      // Left undone, the silence says it later.
      await removeFront(db, id, grpcAddress).catch(onError);
    },
  };
}

/**
 * Follows a front's own announcements: after an outage of the database, in which nobody could announce
 * itself, the others get the time to do so again before one of them counts as gone.
 */
export function watchAnnouncements(now: () => number) {
  let since = now();
  let last = since;
  return {
    noteOne(): void {
      if (now() - last > GAP_MS) since = now();
      last = now();
    },
    maySayGone: () => now() - last <= GAP_MS && now() - since >= GONE_MS,
  };
}

async function noteFront(db: Db, id: string, grpcAddress: string): Promise<void> {
  await sql`INSERT INTO fronts (id, grpc_address) VALUES (${id}, ${grpcAddress})
    ON CONFLICT (id) DO UPDATE SET seen_at = now()`.execute(db);
}

/** Another that has the address, such as a successor, keeps its callers. */
async function removeFront(db: Db, id: string, grpcAddress: string): Promise<void> {
  const { rows } = await sql`SELECT id FROM fronts
    WHERE grpc_address = ${grpcAddress} AND id <> ${id}`.execute(db);
  if (rows.length === 0) await abandonReplies(db, [grpcAddress]);
  await sql`DELETE FROM fronts WHERE id = ${id}`.execute(db);
}

/** Ends the jobs whose callers waited at fronts that have gone without a word; resolves to how many. */
export async function abandonGone(
  db: Db,
): Promise<{ readonly addresses: readonly string[]; readonly jobs: number }> {
  const { rows } = await sql<{ grpc_address: string }>`SELECT grpc_address FROM fronts
    GROUP BY grpc_address
    HAVING max(seen_at) < now() - ${GONE_MS} * interval '1 millisecond'`.execute(db);
  const addresses = rows.map(({ grpc_address: address }) => address);
  const jobs = addresses.length === 0 ? 0 : await abandonReplies(db, addresses);
  return { addresses, jobs };
}

/** Those that announced themselves within the last hour. */
export async function listFronts(db: Db): Promise<FrontSummary[]> {
  const { rows } = await sql<FrontSummary>`SELECT id, grpc_address AS "grpcAddress",
      ${isoTime(sql`seen_at`)} AS "seenAt",
      CASE WHEN seen_at < now() - ${GONE_MS} * interval '1 millisecond' THEN 'gone' ELSE 'ready' END
        AS state,
      (SELECT count(*)::int FROM jobs WHERE report_to = grpc_address
        AND state IN ('queued', 'in_progress')) AS waiting
    FROM fronts ORDER BY grpc_address, seen_at`.execute(db);
  return rows;
}

/** Forgets fronts that left without a word; their callers' jobs have ended long since. */
export async function forgetFronts(db: Db): Promise<void> {
  await sql`DELETE FROM fronts WHERE seen_at < now() - interval '1 hour'`.execute(db);
}
