import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import type { Database } from "#framemill/front/ledger/database/database.js";
import type { Keys } from "#framemill/front/ledger/keys.js";
import { reserveSpending } from "#framemill/front/ledger/spending.js";
import { readChargeTotals, rollUpUsage } from "#framemill/front/ledger/usage-rollup.js";
import { summariseUsage, type UsageQuery } from "#framemill/front/operations/usage.js";
import { openLedger, type Account } from "../../support/front-harness.js";

const HOUR_MS = 3_600_000;

describe("the sums of charges", () => {
  let database: Database;
  let keys: Keys;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, keys, close } = await openLedger());
  });
  beforeEach(async () => {
    await sql`TRUNCATE charges, usage_hours, usage_days`.execute(database);
    await sql`UPDATE usage_rollup SET rolled_until = 'epoch', charges = 0, amount_nano_usd = 0`.execute(
      database,
    );
  });
  afterAll(async () => await close?.());

  const createAccount = async (): Promise<Account> => {
    const project = await keys.createProject("test");
    const { id: keyId, key } = await keys.createKey(project.id, "test");
    return { project, keyId, key };
  };

  /** A charge of three tokens, so long ago. */
  const addCharges = async (
    { project, keyId }: Account,
    agesMs: readonly number[],
    more: { readonly tier?: string; readonly before?: boolean } = {},
  ) => {
    const { tier = "", before = false } = more;
    await sql`INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, prices,
        counted_units, amount_nano_usd, amount_micro_usd, gpu_ms, created_at)
      SELECT gen_random_uuid()::text, ${project.id}, ${before ? null : keyId}::text, 'embeddings',
        'vectors', ${before ? null : tier}::text, ${JSON.stringify(embeddings.prices)}::jsonb,
        '{"inputTokens": 3}', ${before ? null : 60}::bigint, ${before ? 7 : 0}::bigint, 5,
        now() - age * interval '1 millisecond'
      FROM unnest(${agesMs}::float8[]) AS age`.execute(database);
  };
  const usageOf = async ({ project }: Account, query: UsageQuery = {}) =>
    await summariseUsage(database, {
      project: project.id,
      since: new Date(Date.now() - 40 * HOUR_MS).toISOString(),
      ...query,
    });

  it("count every charge once, before and after they are made and across their edge", async () => {
    const db = database;
    const account = await createAccount();
    await addCharges(account, [30.5 * HOUR_MS, 30 * HOUR_MS, 2 * HOUR_MS, 90_000, 1_000]);
    const usage = await usageOf(account);
    expect(usage).toMatchObject([
      { project: "test", model: "vectors", tier: "", jobs: 5, units: { inputTokens: 15 } },
    ]);
    // 15 tokens at 0.02 micro-dollars each: nothing of it is rounded away.
    expect(usage[0]).toMatchObject({ chargedNanoUsd: 300, chargedMicroUsd: 0.3 });
    await Promise.all([rollUpUsage(db), rollUpUsage(db), rollUpUsage(db)]);
    await rollUpUsage(db);
    const { rows } = await sql<{ jobs: number; nano: number }>`SELECT sum(jobs)::int AS jobs,
      sum(amount_nano_usd)::int AS nano FROM usage_hours
      WHERE project_id = ${account.project.id}`.execute(db);
    // The last second's may still be joined by others: it waits.
    expect(rows).toEqual([{ jobs: 4, nano: 240 }]);
    expect(await usageOf(account)).toEqual(usage);
    await addCharges(account, [500]);
    expect(await usageOf(account)).toMatchObject([{ jobs: 6, chargedNanoUsd: 360 }]);
    expect(await readChargeTotals(db)).toEqual({ charges: 6, nanoUsd: 360 });
  });

  it("begin and end at a second, not at an hour", async () => {
    const account = await createAccount();
    const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 20 * HOUR_MS;
    const ages = [-1, 0, 59, 60, 119, 120, 121].map(
      (minute) => Date.now() - start - minute * 60_000,
    );
    await addCharges(account, ages);
    const at = (minute: number) => new Date(start + minute * 60_000).toISOString();
    const count = async (since: string, until: string) =>
      (await usageOf(account, { since, until, by: [] }))[0]?.jobs ?? 0;
    const expectCuts = async () => {
      expect(await count(at(-0.5), at(60.5))).toBe(3);
      expect(await count(at(-1.5), at(120.5))).toBe(6);
      expect(await count(at(59.5), at(59.9))).toBe(0);
      expect(await count(at(58.5), at(59.9))).toBe(1);
      expect(await count(at(59.5), at(600))).toBe(4);
    };
    await expectCuts();
    await rollUpUsage(database);
    await expectCuts();
  });

  it("group by day, key and tier, and read what the previous release wrote", async () => {
    const db = database;
    const account = await createAccount();
    const other = await keys.createKey(account.project.id, "night shift");
    await addCharges(account, [26 * HOUR_MS, HOUR_MS], { tier: "fast" });
    await addCharges({ ...account, keyId: other.id }, [HOUR_MS], { tier: "high" });
    await addCharges(account, [HOUR_MS], { before: true });
    const byKey = await usageOf(account, { by: ["key", "tier"] });
    const expected = [
      // Seven micro-dollars, of a front that knew no smaller ones.
      { keyId: null, key: null, tier: "", jobs: 1, chargedNanoUsd: 7_000 },
      { keyId: account.keyId, key: "test", tier: "fast", jobs: 2, chargedNanoUsd: 120 },
      { keyId: other.id, key: "night shift", tier: "high", jobs: 1, chargedNanoUsd: 60 },
    ];
    expect(byKey).toMatchObject(expected);
    await rollUpUsage(db);
    expect(await usageOf(account, { by: ["key", "tier"] })).toEqual(byKey);
    const days = await usageOf(account, { by: ["day"] });
    expect(days.length).toBeGreaterThanOrEqual(2);
    expect(days.map(({ day }) => day)).toEqual(days.map(({ day = "" }) => day).toSorted());
    expect(days.reduce((sum, { chargedNanoUsd }) => sum + chargedNanoUsd, 0)).toBe(7_180);
  });

  it("hold a project to its monthly limit, to the nano-dollar", async () => {
    const db = database;
    const account = await createAccount();
    const { project } = account;
    await addCharges(account, [90_000, 800, 600]);
    await rollUpUsage(db);
    const reserve = async (limitMicroUsd: number, nanoUsd: number) =>
      await db.transaction(async (trx) => {
        await reserveSpending(trx, { ...project, monthlyLimitMicroUsd: limitMicroUsd }, nanoUsd);
      });
    // 180 of 1000 nano-dollars are spent.
    await reserve(1, 820);
    await expect(reserve(1, 821)).rejects.toMatchObject({ code: "insufficient_quota" });
  });
});
