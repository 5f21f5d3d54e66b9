import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Front } from "#framemill/front/front.js";
import { rollUpTotals } from "#framemill/front/ledger/totals.js";
import {
  call,
  claim,
  createJob,
  type Harness,
  makeClip,
  SOON,
  startHarness,
} from "../../support/front-harness.js";

let harness: Harness;
beforeAll(async () => (harness = await startHarness()));
afterAll(async () => await harness?.close());

/** Of a front that has read nothing yet. */
async function scrape(use?: (front: Front) => Promise<void>): Promise<string> {
  const config = { ...harness.config, metricsPort: 0 };
  const front = await harness.startReplica({ config });
  await use?.(front);
  return (await call(`http://127.0.0.1:${front.metricsPort}/metrics`)).text;
}

async function age(interval: string): Promise<void> {
  const ago = sql`${interval}::interval`;
  const db = harness.database;
  await sql`UPDATE jobs SET ended_at = ended_at - ${ago}`.execute(db);
  await sql`UPDATE attempts SET ended_at = ended_at - ${ago}`.execute(db);
  await sql`UPDATE totals_rollup SET rolled_until = rolled_until - ${ago}`.execute(db);
}

it("exports the same totals before a rollup, after it, and when the jobs are gone", async () => {
  const { front, account, database } = harness;
  await makeClip(harness, account.key);
  await makeClip(harness, account.key);
  const failed = await createJob(front, account.key);
  const lease = await claim(front, failed);
  const failure = { code: "invalid_value", message: "no" } as const;
  await front.handlers.fail({ ...lease, failure, retryable: false, gpuMs: 100 });
  const totals = (text: string) =>
    text
      .split("\n")
      .filter((line) =>
        /^framemill_(jobs|attempts|gpu_seconds|charges|charged|unrecorded)/.test(line),
      );
  const before = totals(await scrape());
  expect(before.filter((line) => line.startsWith("framemill_jobs")).toSorted()).toEqual([
    expect.stringMatching(/state="completed"\} 2$/),
    expect.stringMatching(/state="failed"\} 1$/),
  ]);
  expect(before).toContain('framemill_attempts{outcome="completed"} 2');
  expect(before).toContain("framemill_gpu_seconds 2.568");
  await age("45 minutes");
  const rollUp = async () => {
    // The front's own housekeeping may be at it: then this one does nothing.
    await rollUpTotals(database);
    const { rows } = await sql<{
      jobs: number;
    }>`SELECT sum(jobs)::int AS jobs FROM job_totals`.execute(database);
    return rows[0]?.jobs;
  };
  await expect.poll(rollUp, SOON).toBe(3);
  await rollUpTotals(database);
  expect(totals(await scrape()).toSorted()).toEqual(before.toSorted());
  await sql`DELETE FROM jobs`.execute(database);
  expect(totals(await scrape()).toSorted()).toEqual(before.toSorted());
});

it("exports open jobs and the database's health while totals cannot be read", async () => {
  const { database, front, account } = harness;
  await createJob(front, account.key);
  await sql`ALTER TABLE job_totals RENAME TO away`.execute(database);
  const text = await scrape();
  await sql`ALTER TABLE away RENAME TO job_totals`.execute(database);
  expect(text).toContain("framemill_ledger_up 1");
  expect(text).toContain("framemill_ledger_history_up 0");
  expect(text).toMatch(/framemill_jobs\{.*state="queued"\} 1/);
  expect(text).not.toContain("framemill_charges");
});

it("serves metrics on their own port and not on the callers'", async () => {
  await scrape(async ({ origin }) => {
    expect((await call(`${origin}/metrics`)).status).toBe(404);
  });
  expect((await call(`${harness.front.origin}/metrics`)).status).toBe(200);
});
