import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { pino } from "pino";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "#framemill/config.js";
import { type Database, openDatabase } from "#framemill/front/ledger/database/database.js";
import { projectDefaults } from "#framemill/front/front.js";
import { readInvoices, usageCsv, summariseUsage } from "#framemill/front/operations/usage.js";
import { createKeys } from "#framemill/front/ledger/keys.js";
import { USAGE_GROUPS, type UsageGroup } from "#framemill/core/usage.js";
import { readChargeTotals, rollUpUsage } from "#framemill/front/ledger/usage-rollup.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const CHARGES = countOf({ short: 20_000, full: 1_000_000 });
const AT_A_TIME = 20_000;
const PROJECTS = 7;
const WINDOWS = 20;
const DAYS = 75;
const GROUPINGS: readonly (readonly UsageGroup[])[] = [
  [],
  ...USAGE_GROUPS.map((group) => [group]),
  ["project", "model", "tier"],
  USAGE_GROUPS,
];

let folder = "";
let databaseUrl = "";
let database: Database;
let ledger: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-money-"));
  databaseUrl = await createPostgres();
  database = await openDatabase({ databaseUrl, dataDir: folder, log: pino({ level: "silent" }) });
  // A session of its own: what it counts knows nothing of sums.
  ledger = new Client({ connectionString: databaseUrl });
  await ledger.connect();
}, 60_000);
afterAll(async () => {
  await ledger?.end();
  await database?.close();
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

/** Charges of random projects, keys, models, tiers, service tiers, amounts and times; a tenth of a front of before. */
async function addCharges(count: number, maxAgeDays: number): Promise<void> {
  await ledger.query(
    `INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, service_tier, prices,
        counted_units, amount_nano_usd, amount_micro_usd, gpu_ms, created_at)
      SELECT gen_random_uuid(), project, CASE WHEN NOT old THEN project || '-key' || key END, 'chat',
        'model-' || model, CASE WHEN NOT old THEN (ARRAY['', 'fast', 'high'])[tier] END,
        CASE WHEN old THEN 'default' ELSE (ARRAY['priority', 'default', 'flex'])[service] END, '{}',
        jsonb_build_object('inputTokens', nano / 7), CASE WHEN NOT old THEN nano END, round(nano / 1000.0),
        5, now() - random() * $3::float8 * interval '1 day'
      FROM (SELECT (ARRAY(SELECT id FROM projects ORDER BY id))[1 + floor(random() * $2)] AS project,
          floor(random() * 3)::int AS key, floor(random() * 5)::int AS model,
          1 + floor(random() * 3)::int AS tier, 1 + floor(random() * 3)::int AS service, floor(10 ^ (random() * 9))::bigint AS nano,
          random() < 0.1 AS old
        FROM generate_series(1, $1)) drawn`,
    [count, PROJECTS, maxAgeDays],
  );
}

interface Sum {
  readonly jobs: number;
  readonly nano: bigint;
}

/** Straight from the charges. */
async function sumLedger(where = "true", values: readonly string[] = []): Promise<Sum> {
  const { rows } = await ledger.query<{ jobs: number; nano: string }>(
    `SELECT count(*)::int AS jobs,
      coalesce(sum(coalesce(amount_nano_usd, amount_micro_usd * 1000)), 0)::text AS nano
    FROM charges WHERE ${where}`,
    [...values],
  );
  return { jobs: rows[0]?.jobs ?? 0, nano: BigInt(rows[0]?.nano ?? 0) };
}

function sumUsage(
  usage: readonly { readonly jobs: number; readonly chargedNanoUsd: number }[],
): Sum {
  return {
    jobs: usage.reduce((sum, { jobs }) => sum + jobs, 0),
    nano: usage.reduce((sum, { chargedNanoUsd }) => sum + BigInt(chargedNanoUsd), 0n),
  };
}

function sumCsv(csv: string): Sum {
  const [heading = [], ...rows] = csv
    .split("\r\n")
    .slice(0, -1)
    .map((line) => line.split(","));
  const jobs = heading.indexOf("jobs");
  return {
    jobs: rows.reduce((sum, row) => sum + Number(row[jobs]), 0),
    nano: rows.reduce((sum, row) => sum + BigInt((row.at(-1) ?? "").replace(".", "")), 0n),
  };
}

const EVER = "2020-01-01T00:00:00Z";

/** Faults among all ways to sum the same charges, as sentences. */
async function compareSums(): Promise<string[]> {
  const db = database;
  const faults: string[] = [];
  const compare = (what: string, reported: Sum, right: Sum) => {
    if (reported.jobs !== right.jobs || reported.nano !== right.nano)
      faults.push(
        `${what}: ${reported.jobs} / ${reported.nano}, ledger ${right.jobs} / ${right.nano}`,
      );
  };
  const all = await sumLedger();
  const { charges, nanoUsd } = await readChargeTotals(db);
  compare("totals", { jobs: charges, nano: BigInt(nanoUsd) }, all);
  for (const by of GROUPINGS) {
    const usage = await summariseUsage(db, { since: EVER, by });
    compare(`usage by ${by.join(",")}`, sumUsage(usage), all);
    if (by === USAGE_GROUPS) compare("CSV", sumCsv(usageCsv(usage)), all);
  }
  for (let window = 0; window < WINDOWS; window += 1) {
    const ends = [Math.random(), Math.random()].map((share) => Date.now() - share * DAYS * 864e5);
    const [since = "", until = ""] = ends
      .toSorted((a, b) => a - b)
      .map((ms) => new Date(ms).toISOString());
    const usage = await summariseUsage(db, { since, until, by: [] });
    const right = await sumLedger("created_at >= $1 AND created_at < $2", [since, until]);
    compare(`${since} to ${until}`, sumUsage(usage), right);
  }
  return faults;
}

/** Invoices whose cents are not those of the ledger's month, and how far all are from the exact sum. */
async function compareInvoices(): Promise<{ wrong: string[]; invoices: number; offCents: number }> {
  const { rows } = await ledger.query<{ month: string; project_id: string; nano: string }>(
    `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, project_id,
      sum(coalesce(amount_nano_usd, amount_micro_usd * 1000))::text AS nano
    FROM charges GROUP BY 1, 2`,
  );
  const sentCents = new Map<string, number>();
  for (const month of new Set(rows.map((row) => row.month)))
    for (const { projectId, amountCents } of (await readInvoices(database, { month })).invoices)
      sentCents.set(`${month} ${projectId}`, amountCents);
  const wrong = rows.flatMap(({ month, project_id: project, nano }) => {
    const cents = Number((BigInt(nano) + 5_000_000n) / 10_000_000n);
    const sent = sentCents.get(`${month} ${project}`);
    return sent === cents ? [] : [`${month} ${project}: ${sent}, ledger ${cents}`];
  });
  const exact = rows.reduce((sum, { nano }) => sum + Number(nano), 0) / 1e7;
  const invoiced = [...sentCents.values()].reduce((sum, cents) => sum + cents, 0);
  return { wrong, invoices: sentCents.size, offCents: Math.abs(invoiced - exact) };
}

it("T36: sums of random charges reconcile to the nano-dollar, and invoices to the cent", async () => {
  const db = database;
  const defaults = projectDefaults(loadConfig({ dataDir: folder }, {}));
  const keys = createKeys({ database, defaults, randomBytes });
  for (let index = 0; index < PROJECTS; index += 1) await keys.createProject(`project ${index}`);
  await addCharges(AT_A_TIME, DAYS);
  const faults = (await compareSums()).map((fault) => `before any sums: ${fault}`);
  for (let made = AT_A_TIME; made < CHARGES; made += AT_A_TIME) await addCharges(AT_A_TIME, DAYS);
  // Four replicas sum while charges are made.
  let isOver = false;
  const roller = async () => {
    while (!isOver) await rollUpUsage(db);
  };
  const rollers = [roller(), roller(), roller(), roller()];
  for (let more = 0; more < 20; more += 1) {
    await addCharges(100, 0);
    await summariseUsage(db, { by: ["project"] });
  }
  for (;;) {
    const { rows } = await sql<{ left: number }>`SELECT count(*)::int AS left FROM charges
      WHERE created_at >= (SELECT rolled_until FROM usage_rollup)
        AND created_at < now() - interval '90 seconds'`.execute(db);
    if (rows[0]?.left === 0) break;
  }
  isOver = true;
  await Promise.all(rollers);
  faults.push(...(await compareSums()));
  const { wrong, invoices, offCents } = await compareInvoices();
  const since = new Date(Date.now() - 30 * 864e5).toISOString();
  const startedAt = performance.now();
  await summariseUsage(db, { since });
  const usageMs = performance.now() - startedAt;
  const { jobs, nano } = await sumLedger();
  const holds =
    faults.length === 0 &&
    wrong.length === 0 &&
    offCents <= invoices / 2 &&
    usageMs <= limitOf(300);
  await noteVerdict({
    promise: "T36",
    injected: `${jobs} random charges of ${PROJECTS} projects over ${DAYS} days, 4 replicas that sum them meanwhile`,
    counted:
      `$${(Number(nano) / 1e9).toFixed(9)}; sums that differ ${faults.length} of ${2 * (GROUPINGS.length + 2 + WINDOWS)}, ` +
      `invoices that differ ${wrong.length} of ${invoices}, off the exact sum by ${offCents.toFixed(2)} cents; ` +
      `usage of a month ${usageMs.toFixed(0)} ms`,
    holds,
  });
  expect({ faults, wrong }).toEqual({ faults: [], wrong: [] });
  expect(offCents).toBeLessThanOrEqual(invoices / 2);
  expect(usageMs).toBeLessThanOrEqual(limitOf(300));
}, 1_800_000);
