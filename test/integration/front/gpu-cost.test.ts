import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { WorkerStatus } from "#framemill/core/reports.js";
import type { Database } from "#framemill/front/ledger/database/database.js";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { closeLostAttempts, readGpuCost } from "#framemill/front/ledger/gpu-cost.js";
import { grantWorkers } from "#framemill/front/ledger/gpu-ceiling.js";
import { rollUpTotals } from "#framemill/front/ledger/totals.js";
import { noteWorker } from "#framemill/front/ledger/workers.js";
import { openLedger } from "../../support/front-harness.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** More than a day either way: a test may run at midnight. */
const ALWAYS = { since: "2000-01-01", until: "2100-01-01" };

describe("what workers' time costs", () => {
  let database: Database;
  let projects: readonly string[];
  let close: () => Promise<void>;
  beforeAll(async () => {
    const { keys, ...ledger } = await openLedger();
    ({ database, close } = ledger);
    const made = [await keys.createProject("north"), await keys.createProject("south")];
    for (const { id } of made) await keys.createKey(id, "test");
    projects = made.map(({ id }) => id);
  });
  beforeEach(async () => {
    await sql`TRUNCATE workers, worker_days, work_days, scaler_grants, attempts, jobs CASCADE`.execute(
      database,
    );
  });
  afterAll(async () => await close?.());

  const announce = async (workerId: string, status: Partial<WorkerStatus>) =>
    await noteWorker(database, {
      workerId,
      state: "ready",
      models: ["motion"],
      slots: 1,
      running: 0,
      device: "test",
      memoryBytes: 0,
      nanoUsdPerHour: 3_456_789_123,
      uptimeMs: 0,
      startingMs: 0,
      busyMs: 0,
      ...status,
    });
  /** The ledger's clock cannot be set: what it remembers of workers is put back instead. */
  const pass = async (ms: number) =>
    await sql`UPDATE workers SET seen_at = seen_at - ${ms}::float8 * interval '1 millisecond'`.execute(
      database,
    );
  interface Work {
    readonly workerId: string;
    readonly project?: string | undefined;
    readonly model?: string;
    readonly gpuMs: number;
    readonly outcome?: string;
  }
  /** An attempt that ended a minute ago. */
  const work = async ({ workerId, project, model = "motion", gpuMs, outcome }: Work) => {
    const id = `video_${randomBytes(8).toString("hex")}`;
    await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, tier, request, state, token,
        attempts, released_at, started_at, ended_at, deadline_at, republish_after, body_hash, prices, quoted_units,
        amount_micro_usd, work, turn)
      SELECT ${id}, project_id, id, 'video', ${model}, 'fast', '{}', 'completed', 1, 1, now(),
        now(), now(), now(), now(), '', '{}', '{}', 0, 1, 0
      FROM api_keys WHERE project_id = ${project ?? projects[0]}`.execute(database);
    await sql`INSERT INTO attempts (job_id, token, worker_id, outcome, gpu_ms, started_at, ended_at)
      VALUES (${id}, 1, ${workerId}, ${outcome ?? "completed"}, ${gpuMs}, now() - interval '2 minutes',
        now() - interval '1 minute')`.execute(database);
  };
  const rollUp = async () => {
    await sql`UPDATE totals_rollup SET rolled_until = now() - interval '9 minutes'`.execute(
      database,
    );
    await rollUpTotals(database);
  };
  const costs = async (...by: ("day" | "project" | "model" | "tier")[]) =>
    await readGpuCost(database, { ...ALWAYS, by });
  const sum = (rows: readonly { readonly gpuNanoUsd: number }[]) =>
    rows.reduce((total, { gpuNanoUsd }) => total + gpuNanoUsd, 0);

  it("adds up to hours × price for a day of starts, crashes, idle hours and shared workers", async () => {
    // Worker a: a day with a crash at noon, after which its process starts anew.
    await announce("a", { uptimeMs: 60_000, startingMs: 45_000 });
    for (let hour = 1; hour <= 12; hour++) {
      await pass(HOUR_MS);
      await announce("a", {
        uptimeMs: 60_000 + hour * HOUR_MS,
        startingMs: 45_000,
        busyMs: hour * 1_234_567,
      });
    }
    await pass(600_000);
    await announce("a", { uptimeMs: 90_000, startingMs: 30_000 });
    await pass(HOUR_MS);
    await announce("a", { uptimeMs: 90_000 + HOUR_MS, startingMs: 30_000, busyMs: 2_000_000 });
    // Worker b stands idle all day, c serves a model that nobody asks for.
    await announce("b", { uptimeMs: 1_000 });
    await pass(DAY_MS / 2);
    await announce("b", { uptimeMs: 1_000 + DAY_MS / 2 });
    await announce("c", { uptimeMs: 777_777, models: ["other"], nanoUsdPerHour: 999_999_937 });
    for (const gpuMs of [1_234_567, 7_777_777, 3]) await work({ workerId: "a", gpuMs });
    await work({ workerId: "a", gpuMs: 4_444_441, project: projects[1], model: "still" });
    await work({
      workerId: "a",
      gpuMs: 1_111_111,
      project: projects[1],
      outcome: "inference_crashed",
    });
    await rollUp();

    // The test itself takes some milliseconds, which are paid as well.
    const { rows } = await sql<{ worker: string; us: number; nano: number }>`
      SELECT worker_id AS worker, sum(paid_us)::bigint AS us,
        sum(floor(paid_us::numeric * nano_usd_per_hour / 3600000000))::bigint AS nano
      FROM worker_days GROUP BY worker_id ORDER BY worker_id`.execute(database);
    const expectedMs = [60_000 + 13 * HOUR_MS + 90_000, 1_000 + DAY_MS / 2, 777_777];
    const within = 2_000;
    for (const [at, ms] of expectedMs.entries())
      expect(Math.abs(Number(rows[at]?.us) / 1_000 - ms)).toBeLessThan(within);
    const paid = rows.reduce((total, { nano }) => total + nano, 0);
    for (const by of [[], ["model"], ["project"], ["day", "project", "model", "tier"]] as const)
      expect(sum(await costs(...by))).toBe(paid);

    const byModel = await costs("model");
    const motion = byModel.find(({ model }) => model === "motion");
    const unused = byModel.find(({ model }) => model === null);
    expect(motion?.lostNanoUsd).toBeGreaterThan(0);
    expect(motion?.startingNanoUsd).toBeGreaterThan(0);
    // An idle worker is paid by those that its models are for; one whose model nobody asks for by nobody.
    // Nor does anybody pay what of b's time was yesterday, where it is early in the day.
    const { rows: nobodys } = await sql<{ nano: number }>`
      SELECT sum(floor(paid_us::numeric * nano_usd_per_hour / 3600000000))::bigint AS nano
      FROM worker_days WHERE models = 'other' OR day NOT IN (SELECT day FROM work_days)`.execute(
      database,
    );
    expect(unused?.gpuNanoUsd).toBe(nobodys[0]?.nano);
    expect(unused?.workedNanoUsd).toBe(0);
  });

  it("counts an attempt of which nobody reports as lost, until the next one began", async () => {
    await announce("a", { uptimeMs: 1_000_000, busyMs: 900_000 });
    await work({ workerId: "a", gpuMs: 60_000 });
    await sql`UPDATE attempts SET token = 2`.execute(database);
    await sql`UPDATE jobs SET token = 2`.execute(database);
    await sql`INSERT INTO attempts (job_id, token, worker_id, started_at)
      SELECT job_id, 1, 'a', started_at - interval '4 minutes' FROM attempts`.execute(database);
    await closeLostAttempts(database);
    const { rows } = await sql<{ outcome: string; gpu_ms: number }>`
      SELECT outcome, gpu_ms FROM attempts WHERE token = 1`.execute(database);
    expect(rows).toEqual([{ outcome: "lost", gpu_ms: 240_000 }]);
  });

  it("grants no trigger more workers than the ceiling has left, over all pools and at once", async () => {
    const trigger = (model: string, gpuDollarsPerHour?: number) => ({
      models: [model],
      jobsPerWorker: 1,
      secondsPerWorker: undefined,
      gpuDollarsPerHour,
    });
    const grant = async (model: string, workers: number, dollars?: number) =>
      await grantWorkers(
        database,
        trigger(model, dollars),
        { metric: "outstanding-jobs", workers },
        10e9,
      );
    // Three dollars an hour go to workers of a pool that is not scaled.
    await announce("fixed", { models: ["chat"], nanoUsdPerHour: 3e9, uptimeMs: 1 });
    const both = await Promise.all([grant("clips", 5, 2), grant("pictures", 5, 1.5)]);
    const [clips, pictures] = both;
    expect(clips * 2 + pictures * 1.5 + 3).toBeLessThanOrEqual(10);
    expect(clips * 2 + pictures * 1.5 + 3).toBeGreaterThan(8);
    // What one gives back, the other may have once no worker of it can still be on its way.
    await grant("clips", 0, 2);
    expect(await grant("pictures", 9, 1.5)).toBe(pictures);
    await sql`UPDATE scaler_grants SET granted_until = granted_until - interval '2 minutes'`.execute(
      database,
    );
    await grant("clips", 0, 2);
    expect(await grant("pictures", 9, 1.5)).toBe(4);
    // Others are begun in the place of those that drain, and these are there until they have gone.
    await announce("going", { models: ["pictures"], nanoUsdPerHour: 1.5e9, state: "draining" });
    expect(await grant("pictures", 9, 1.5)).toBe(3);
    await announce("going", { models: ["pictures"], state: "stopped" });
    // A price that the trigger does not say is that of its workers.
    expect(await grant("chat", 9)).toBe(1);
    await expect(grant("unheard-of", 1)).rejects.toThrow("gpuDollarsPerHour");
  });
});
