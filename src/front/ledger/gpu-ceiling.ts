import { JobError } from "../../core/errors.js";
import type { ScalerTrigger, WantedWorkers } from "../../core/scaling.js";
import { type Db, type Sql, sql } from "./database/sql.js";
import { ABSENT_MS } from "./workers.js";

/**
 * A grant that is not asked for again holds for so long (KEDA asks every 15 to 30 s), and so does a higher
 * one before it: Kubernetes has begun workers for it that do not announce themselves yet.
 */
const GRANT = sql`interval '2 minutes'`;

interface Worker {
  readonly models: readonly string[];
  readonly nanoUsdPerHour: number;
  readonly isDraining: boolean;
}

/** Workers that announce themselves: whatever they do, they cost. */
async function readLive(db: Db): Promise<Worker[]> {
  const { rows } = await sql<Worker>`
    SELECT status -> 'models' AS models, status ->> 'state' = 'draining' AS "isDraining",
      coalesce((status ->> 'nanoUsdPerHour')::bigint, 0) AS "nanoUsdPerHour"
    FROM workers WHERE seen_at > now() - ${ABSENT_MS} * interval '1 millisecond'`.execute(db);
  return rows;
}

/** What all workers that announce themselves cost an hour, in nano-dollars. */
export async function readGpuRate(db: Db): Promise<number> {
  return costOf(await readLive(db));
}

function costOf(workers: readonly Worker[]): number {
  return workers.reduce((sum, { nanoUsdPerHour }) => sum + nanoUsdPerHour, 0);
}

/**
 * How many of the wanted workers of a trigger keep all workers below the ceiling, in nano-dollars an hour.
 * What is granted counts from now on, before its workers announce themselves, so that two triggers that
 * ask at once do not both get the last of it. Workers that serve none of a trigger's models are another
 * pool's.
 */
export async function grantWorkers(
  db: Db,
  trigger: ScalerTrigger,
  { metric, workers }: WantedWorkers,
  ceiling: number,
): Promise<number> {
  const pool = trigger.models.toSorted((a, b) => a.localeCompare(b, "en")).join(",");
  return await db.transaction(async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtext('framemill scaler grants'))`.execute(trx);
    const live = await readLive(trx);
    const price = await priceOf(trx, trigger, live);
    const others = await costOfOthers(trx, pool, live);
    const allowed = Math.max(0, Math.floor((ceiling - others) / price));
    const granted = Math.min(workers, allowed);
    const cost = sql`${granted * price}::bigint`;
    await sql`INSERT INTO scaler_grants (pool, metric, nano_usd_per_hour, granted_until)
      VALUES (${pool}, ${metric}, ${cost}, now() + ${GRANT}),
        (${pool}, ${`highest of ${metric}`}, ${cost}, now() + ${GRANT})
      ON CONFLICT (pool, metric) DO UPDATE SET nano_usd_per_hour = excluded.nano_usd_per_hour,
        granted_until = excluded.granted_until
      WHERE excluded.metric = ${metric} OR scaler_grants.granted_until < now()
        OR excluded.nano_usd_per_hour >= scaler_grants.nano_usd_per_hour`.execute(trx);
    await sql`DELETE FROM scaler_grants WHERE granted_until < now()`.execute(trx);
    return granted;
  });
}

function serves(models: readonly string[], { models: served }: Worker): boolean {
  return models.length === 0 || served.some((model) => models.includes(model));
}

/** The dearest of the pool's workers now, or of the last days: a ceiling is kept on the safe side. */
async function priceOf(db: Db, trigger: ScalerTrigger, live: readonly Worker[]): Promise<number> {
  const { models, gpuDollarsPerHour } = trigger;
  if (gpuDollarsPerHour !== undefined) return Math.ceil(gpuDollarsPerHour * 1e9);
  const prices = live.filter((worker) => serves(models, worker)).map((one) => one.nanoUsdPerHour);
  const price = Math.max(0, ...prices) || (await readPastPrice(db, models));
  if (price > 0) return price;
  throw new JobError(
    "invalid_value",
    `MAX_GPU_DOLLARS_PER_HOUR is set, and what a worker of ${models.join(", ") || "all models"} costs is not known: ` +
      "say gpuDollarsPerHour in the trigger's metadata, or GPU_DOLLARS_PER_HOUR to its workers",
  );
}

async function readPastPrice(db: Db, models: readonly string[]): Promise<number> {
  const isServed: Sql =
    models.length === 0 ? sql`true` : sql`string_to_array(models, ',') && ${models}::text[]`;
  const { rows } = await sql<{ price: number | null }>`
    SELECT max(nano_usd_per_hour)::bigint AS price FROM worker_days
    WHERE day > (now() AT TIME ZONE 'UTC')::date - 30 AND ${isServed}`.execute(db);
  return rows[0]?.price ?? 0;
}

/**
 * Other pools cost what their workers cost, or what they were granted where that is more. Workers that
 * drain, of whatever pool, cost besides: Kubernetes starts others in their place before they are gone.
 */
async function costOfOthers(db: Db, own: string, live: readonly Worker[]): Promise<number> {
  const { rows } = await sql<{ pool: string; granted: number }>`
    SELECT pool, max(nano_usd_per_hour)::bigint AS granted FROM scaler_grants
    WHERE pool <> ${own} AND granted_until >= now() GROUP BY pool ORDER BY pool`.execute(db);
  const modelsOf = (pool: string) => (pool === "" ? [] : pool.split(","));
  const isOwn = (worker: Worker) => serves(modelsOf(own), worker);
  let left = live.filter((worker) => !worker.isDraining && !isOwn(worker));
  let sum = costOf(live.filter(({ isDraining }) => isDraining));
  for (const { pool, granted } of rows) {
    const its = left.filter((worker) => serves(modelsOf(pool), worker));
    left = left.filter((worker) => !its.includes(worker));
    sum += Math.max(granted, costOf(its));
  }
  return sum + costOf(left);
}
