import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { WorkerStatus } from "#framemill/core/reports.js";
import type { Database } from "#framemill/front/ledger/database/database.js";
import { type Db, sql } from "#framemill/front/ledger/database/sql.js";
import { readGpuCost } from "#framemill/front/ledger/gpu-cost.js";
import { grantWorkers } from "#framemill/front/ledger/gpu-ceiling.js";
import { rollUpTotals } from "#framemill/front/ledger/totals.js";
import { noteWorker } from "#framemill/front/ledger/workers.js";
import { openLedger } from "../../support/front-harness.js";

const STEP_MS = 60_000;
const STEPS = 24 * 60;
const CEILING = 10e9;
const HOUR_MS = 3_600_000;
/** More than a day either way: a test may run at midnight. */
const ALWAYS = { since: "2000-01-01", until: "2100-01-01" };

interface Pool {
  readonly model: string;
  /** As its trigger says it. */
  readonly dollarsPerHour: number;
  readonly nanoUsdPerHour: number;
  wanted: number;
}

interface Pod {
  readonly id: string;
  readonly pool: Pool;
  state: "pulling" | "ready" | "draining" | "crashed";
  /** Of its process. */
  uptimeMs: number;
  startingMs: number;
  busyMs: number;
}

const pools: readonly Pool[] = [
  { model: "clips", dollarsPerHour: 2.5, nanoUsdPerHour: 2_456_789_123, wanted: 1 },
  { model: "pictures", dollarsPerHour: 1.1, nanoUsdPerHour: 1_099_999_999, wanted: 0 },
  { model: "chat", dollarsPerHour: 0.6, nanoUsdPerHour: 600_000_000, wanted: 2 },
];

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
afterAll(async () => await close?.());

/** A step's statements in one transaction have one clock: the ledger's stands still in it. */
async function inOneMoment(work: (db: Db) => Promise<void>): Promise<void> {
  await database.transaction(async (trx) => {
    const flat: Db = { ...trx, transaction: async (own) => await own(flat) };
    await work(flat);
  });
}

/** The ledger's clock cannot be set: what it remembers is put back instead. */
async function pass(db: Db): Promise<void> {
  const step = sql`${STEP_MS}::float8 * interval '1 millisecond'`;
  await sql`UPDATE workers SET seen_at = CASE WHEN seen_at > now() - ${step} THEN now() ELSE seen_at END
    - ${step}`.execute(db);
  await sql`UPDATE scaler_grants SET granted_until = granted_until - ${step}`.execute(db);
}

it(
  "of three pools that grow, shrink, drain and crash keeps the ceiling, and its shares add up to hours × price",
  { timeout: 300_000 },
  async () => {
    const chance = seeded(20_261_125);
    const some = (most: number) => Math.floor(chance() * (most + 1));
    let pods: Pod[] = [];
    let [made, crashes, refused, highest, drained] = [0, 0, 0, 0, 0];
    /** Nano-dollars, as a bill has them. */
    let bill = 0;
    const pay = (pod: Pod, ms: number) => (bill += (ms * pod.pool.nanoUsdPerHour) / HOUR_MS);
    const rate = () => pods.reduce((sum, { pool }) => sum + pool.nanoUsdPerHour, 0);

    const announce = async (db: Db, pod: Pod, state: WorkerStatus["state"]) =>
      await noteWorker(db, {
        workerId: pod.id,
        state,
        models: [pod.pool.model],
        slots: 1,
        running: 0,
        device: "test",
        memoryBytes: 0,
        nanoUsdPerHour: pod.pool.nanoUsdPerHour,
        uptimeMs: pod.uptimeMs,
        startingMs: pod.startingMs,
        busyMs: pod.busyMs,
      });
    const live = async (db: Db, pod: Pod): Promise<boolean> => {
      if (pod.state === "pulling" || pod.state === "crashed") {
        if (chance() < 0.5) return true;
        pod.state = "ready";
        Object.assign(pod, { uptimeMs: 0, busyMs: 0, startingMs: 45_000 });
      } else if (chance() < 0.003) {
        crashes += 1;
        // It died right after it had last announced itself.
        if (pod.state === "draining") return false;
        pod.state = "crashed";
        return true;
      }
      // The first minute is its start.
      if (pod.uptimeMs > 0) pod.busyMs += some(STEP_MS);
      pod.uptimeMs += STEP_MS;
      pay(pod, STEP_MS);
      const leaves = pod.state === "draining" && chance() < 0.1;
      await announce(db, pod, leaves ? "stopped" : pod.state);
      return !leaves;
    };
    const scale = async (db: Db, pool: Pool): Promise<void> => {
      pool.wanted = Math.max(0, Math.min(8, pool.wanted + some(4) - 2));
      const trigger = {
        models: [pool.model],
        jobsPerWorker: 1,
        secondsPerWorker: undefined,
        gpuDollarsPerHour: pool.dollarsPerHour,
      };
      const wanted = { metric: "outstanding-jobs", workers: pool.wanted };
      const granted = await grantWorkers(db, trigger, wanted, CEILING);
      refused += pool.wanted - granted;
      const own = pods.filter((pod) => pod.pool === pool && pod.state !== "draining");
      for (let count = own.length; count < granted; count += 1) {
        const id = `${pool.model}-${(made += 1)}`;
        pods.push({ id, pool, state: "pulling", uptimeMs: 0, startingMs: 0, busyMs: 0 });
      }
      for (const pod of own.slice(granted)) {
        if (pod.state === "ready") [pod.state, drained] = ["draining", drained + 1];
        else pods = pods.filter((other) => other !== pod);
      }
    };
    const work = async (db: Db, pod: Pod): Promise<void> => {
      const outcome = chance() < 0.1 ? "inference_crashed" : "completed";
      const id = `video_${randomBytes(8).toString("hex")}`;
      await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, tier, request, state, token,
          attempts, released_at, started_at, ended_at, deadline_at, republish_after, body_hash, prices,
          quoted_units, amount_micro_usd, work, turn)
        SELECT ${id}, project_id, id, 'video', ${pod.pool.model}, 'fast', '{}', 'completed', 1, 1, now(),
          now(), now(), now(), now(), '', '{}', '{}', 0, 1, 0
        FROM api_keys WHERE project_id = ${projects[some(1)]}`.execute(db);
      await sql`INSERT INTO attempts (job_id, token, worker_id, outcome, gpu_ms, started_at, ended_at)
        VALUES (${id}, 1, ${pod.id}, ${outcome}, ${1 + some(300_000)}, now() - interval '2 minutes',
          now() - interval '1 minute')`.execute(db);
    };

    for (let step = 0; step < STEPS; step += 1)
      await inOneMoment(async (db) => {
        await pass(db);
        const stay: Pod[] = [];
        for (const pod of pods) if (await live(db, pod)) stay.push(pod);
        pods = stay;
        for (const pool of pools) {
          await scale(db, pool);
          highest = Math.max(highest, rate());
          expect([step, rate() <= CEILING]).toEqual([step, true]);
        }
        const worker = pods[some(pods.length - 1)];
        if (worker?.state === "ready" && chance() < 0.3) await work(db, worker);
      });
    await sql`UPDATE totals_rollup SET rolled_until = now() - interval '1 hour'`.execute(database);
    await sql`UPDATE attempts SET ended_at = now() - interval '2 minutes'`.execute(database);
    await rollUpTotals(database);

    // The ceiling was reached, and there was something to keep it against.
    expect(highest).toBeGreaterThan(0.9 * CEILING);
    expect(Math.min(refused, drained, crashes)).toBeGreaterThan(10);
    const sums: number[] = [];
    for (const by of [[], ["model"], ["project"], ["day", "project", "model", "tier"]] as const) {
      const rows = await readGpuCost(database, { ...ALWAYS, by });
      sums.push(rows.reduce((sum, { gpuNanoUsd }) => sum + gpuNanoUsd, 0));
    }
    expect(new Set(sums).size).toBe(1);
    // Each worker's days are rounded down to the nano-dollar.
    expect(Math.abs(bill - (sums[0] ?? 0))).toBeLessThan(3 * made);
    process.stdout.write(
      `${made} workers, ${crashes} crashes, ${drained} drained, ${refused} refused; at most $${highest / 1e9} an hour of ${CEILING / 1e9}; ` +
        `bill $${bill / 1e9}, shares $${(sums[0] ?? 0) / 1e9}\n`,
    );
  },
);

/** Numbers from 0 to 1, the same in each run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
