import { type Db, type Sql, sql } from "./database/sql.js";
import { UNIT_NAMES, type UnitName } from "../../core/usage.js";

/** Charges that one step sums at most, but for those of one moment. */
const BATCH = 20_000;
/** Steps of one round of the janitor: what is left waits for the next. */
const MOST_STEPS = 10;

/** The column of `usage_hours` that holds a unit. */
export function unitColumn(name: UnitName): Sql {
  return sql.ref(name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`));
}

/** The first moment of the hour, day or month (UTC) that a time is in. */
export function startOf(unit: "hour" | "day" | "month", time = sql`now()`): Sql {
  return sql`(date_trunc(${sql.lit(unit)}, ${time} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`;
}

/** A time as JavaScript writes it: ISO 8601 in UTC, with milliseconds. */
export function isoTime(time: Sql): Sql {
  return sql`to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** How far charges are summed, as a subquery. */
export const ROLLED_UNTIL = sql`(SELECT rolled_until FROM usage_rollup)`;

/**
 * What a charge is summed by, as columns of `usage_hours`; there `tier` is as the price table has it, with
 * `@flex` or `@priority` behind it. Rows of a front of before do not say whose key
 * and which tier it was: their jobs do, while those are kept.
 */
export const CHARGE_GROUP = sql`charges.project_id,
  coalesce(charges.api_key_id, jobs.api_key_id, '') AS api_key_id,
  coalesce(charges.modality, '') AS modality, coalesce(charges.model, '') AS model,
  coalesce(charges.tier, jobs.tier, '') ||
    CASE charges.service_tier WHEN 'default' THEN '' ELSE '@' || charges.service_tier END AS tier`;
export const CHARGES_WITH_JOBS = sql`charges
  LEFT JOIN jobs ON charges.api_key_id IS NULL AND jobs.id = charges.job_id`;
/** What is summed of a charge. */
export const CHARGE_SUMS = sql`${nanoUsdOf("charges")} AS amount_nano_usd, charges.gpu_ms,
  ${sql.join(UNIT_NAMES.map((name) => sql`coalesce((charges.counted_units ->> ${sql.lit(name)})::double precision, 0) AS ${unitColumn(name)}`))}`;

/**
 * Adds charges to the sums of their hours, oldest first, those of the past included. Each is summed once:
 * the moment up to which that was done moves in the same transaction. One replica does it at a time.
 */
export async function rollUpUsage(db: Db): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const hasMore = await db.transaction(rollUpBatch);
    if (!hasMore) return;
  }
}

async function rollUpBatch(trx: Db): Promise<boolean> {
  const locked = await sql`SELECT FROM usage_rollup FOR UPDATE SKIP LOCKED`.execute(trx);
  if (locked.rows.length === 0) return false;
  const columns = sql.join(UNIT_NAMES.map(unitColumn));
  const sums = sql.join(UNIT_NAMES.map((name) => sql`sum(${unitColumn(name)})`));
  const namedSums = sql.join(
    UNIT_NAMES.map((name) => sql`sum(${unitColumn(name)}) AS ${unitColumn(name)}`),
  );
  const addTo = (table: "usage_hours" | "usage_days") => {
    const names = ["jobs", "amount_nano_usd", "gpu_ms"].map((name) => sql.ref(name));
    const added = [...names, ...UNIT_NAMES.map(unitColumn)].map(
      (column) => sql`${column} = ${sql.ref(table)}.${column} + excluded.${column}`,
    );
    return sql.join(added);
  };
  const { rows } = await sql<{ has_more: boolean }>`
    WITH settled AS MATERIALIZED (SELECT ${SETTLED} AS settled_until
    ), bounds AS MATERIALIZED (
      SELECT rolled_until, settled_until, least(settled_until, coalesce(
        (SELECT created_at FROM charges WHERE created_at > rolled_until
          ORDER BY created_at OFFSET ${sql.lit(BATCH)} LIMIT 1), settled_until)) AS until
      FROM usage_rollup, settled
    ), batch AS (
      SELECT ${startOf("hour", sql`charges.created_at`)} AS hour, ${CHARGE_GROUP}, ${CHARGE_SUMS}
      FROM ${CHARGES_WITH_JOBS}
      WHERE charges.created_at >= (SELECT rolled_until FROM bounds)
        AND charges.created_at < (SELECT until FROM bounds)
    ), hours AS (
      SELECT project_id, hour, api_key_id, modality, model, tier, count(*) AS jobs,
        sum(amount_nano_usd)::bigint AS amount_nano_usd, sum(gpu_ms)::bigint AS gpu_ms, ${namedSums}
      FROM batch GROUP BY project_id, hour, api_key_id, modality, model, tier
    ), summed AS (
      INSERT INTO usage_hours (project_id, hour, api_key_id, modality, model, tier, jobs,
        amount_nano_usd, gpu_ms, ${columns})
      SELECT * FROM hours
      ON CONFLICT (project_id, hour, api_key_id, modality, model, tier) DO UPDATE SET
        ${addTo("usage_hours")}
    ), summed_days AS (
      INSERT INTO usage_days (project_id, day, api_key_id, modality, model, tier, jobs,
        amount_nano_usd, gpu_ms, ${columns})
      SELECT project_id, ${startOf("day", sql`hour`)}, api_key_id, modality, model, tier, sum(jobs),
        sum(amount_nano_usd), sum(gpu_ms), ${sums}
      FROM hours GROUP BY 1, 2, 3, 4, 5, 6
      ON CONFLICT (project_id, day, api_key_id, modality, model, tier) DO UPDATE SET
        ${addTo("usage_days")}
    )
    UPDATE usage_rollup SET rolled_until = bounds.until,
      charges = charges + (SELECT coalesce(sum(jobs), 0) FROM hours)::bigint,
      amount_nano_usd = usage_rollup.amount_nano_usd
        + (SELECT coalesce(sum(amount_nano_usd), 0) FROM hours)::bigint
    FROM bounds WHERE bounds.until > usage_rollup.rolled_until
    RETURNING bounds.until < bounds.settled_until AS has_more`.execute(trx);
  return rows[0]?.has_more ?? false;
}

/**
 * Before this moment no charge can come any more. A charge's time is when its transaction began: none
 * that still runs may be passed over, and a minute covers those that begin meanwhile on another clock.
 */
const SETTLED = sql`least(now() - interval '1 minute', (SELECT min(xact_start) FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend'
    AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()))`;

/** Charges so far, of all projects: what is summed, and what came since. */
export async function readChargeTotals(
  db: Db,
): Promise<{ readonly charges: number; readonly nanoUsd: number }> {
  const { rows } = await sql<{ charges: number; nanoUsd: number }>`
    SELECT (usage_rollup.charges + since.charges)::bigint AS charges,
      (usage_rollup.amount_nano_usd + since.amount_nano_usd)::bigint AS "nanoUsd"
    FROM usage_rollup, (
      SELECT count(*) AS charges, coalesce(sum(${nanoUsdOf("charges")}), 0) AS amount_nano_usd
      FROM charges WHERE created_at >= ${ROLLED_UNTIL}
    ) since`.execute(db);
  return rows[0] ?? { charges: 0, nanoUsd: 0 };
}

/** A row's amount in nano-dollars; rows of a front of before have micro-dollars only. */
export function nanoUsdOf(table: "jobs" | "charges" | "j"): Sql {
  const [nano, micro] = [`${table}.amount_nano_usd`, `${table}.amount_micro_usd`];
  return sql`coalesce(${sql.ref(nano)}, ${sql.ref(micro)} * 1000)`;
}

/** Nano-dollars as micro-dollars with their fraction: what operators are shown. */
export function inMicroUsd(nanoUsd: Sql): Sql {
  return sql`(${nanoUsd} / 1000.0)::double precision`;
}
