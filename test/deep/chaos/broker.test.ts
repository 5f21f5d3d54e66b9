import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODEL } from "./workload-model.js";
import { startService, type Member, type Service } from "./service.js";
import { askFor, countGood, submit, type Workload, untilEnded } from "./workloads.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const LEAVES = countOf({ short: 2, full: 10 });
const OUTAGES = countOf({ short: 1, full: 20 });
const QUEUED = countOf({ short: 12, full: 100 });
/** The first worker's in the full form is the default. */
const DRAINS_MS = [countOf({ short: 8_000, full: 25_000 }), 8_000, 8_000] as const;
/** It works longer than all the workers that leave may go on. */
const LONG: Workload = {
  seed: 1,
  steps: countOf({ short: 200, full: 600 }),
  stepMs: countOf({ short: 150, full: 1_000 }),
};
const REFUSED_WITHIN_MS = limitOf(2_000);
const CONSUMING_WITHIN_MS = limitOf(3_000);

interface Outage {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly refusedMs: number;
  /** From the broker's open port to the last worker that consumes. */
  readonly consumingMs: number;
}

describe("a broker that is stopped and started", () => {
  let service: Service;
  beforeAll(async () => {
    const workers = DRAINS_MS.map((drainMs) => ({ environment: { DRAIN_MS: String(drainMs) } }));
    service = await startService({ fronts: 1, workers });
  }, 2 * MINUTE_MS);
  afterAll(async () => await service?.close());

  const queued = new Map<string, Workload>();
  it("T9: goes on when its queue is deleted", { timeout: 5 * MINUTE_MS }, async () => {
    const workloads = Array.from({ length: QUEUED }, (_, seed) => ({
      seed,
      steps: 5,
      stepMs: 100,
    }));
    for (const workload of workloads) queued.set(await submit(service, workload), workload);
    await service.control("delete_queue", `jobs.workload.${MODEL}`);
    // The ledger publishes again after a minute; the short form lets it pass at once.
    if (process.env["CHAOS_FORM"] !== "full")
      await service.query("UPDATE jobs SET republish_after = now()");
    const later = { seed: QUEUED, steps: 1, stepMs: 0 };
    const rows = await untilEnded(service, [await submit(service, later)], 2 * MINUTE_MS);
    expect(await countGood(service, rows, () => later)).toBe(1);
  });

  it(
    "T8, T9: keeps a job through restarts of workers and broker",
    { timeout: 40 * MINUTE_MS },
    async () => {
      const id = await submit(service, LONG);
      const overdrawn: number[] = [];
      const exits: number[] = [];
      const outages: Outage[] = [];
      let held = await heldBeyond(service, id, 0);
      for (let turn = 0; turn < Math.max(LEAVES, OUTAGES); turn += 1) {
        if (turn < LEAVES) {
          const { index, member } = held;
          const startedAt = performance.now();
          await member.running.stop("SIGTERM");
          const exitMs = performance.now() - startedAt;
          exits.push(exitMs);
          if (exitMs > (DRAINS_MS[index] ?? 0)) overdrawn.push(exitMs);
          await member.restart();
          held = await heldBeyond(service, id, held.token);
        }
        if (turn < OUTAGES) {
          outages.push(await restartBroker(service));
          held = await heldBeyond(service, id, held.token);
        }
      }
      const rows = await untilEnded(service, [id], 10 * MINUTE_MS);
      const right = await countGood(service, rows, () => LONG);
      const most = Math.round(Math.max(...exits));
      await noteVerdict({
        promise: "T8",
        injected: `${LEAVES} SIGTERMs and ${OUTAGES} broker restarts on one job`,
        counted: `done with the right bytes ${right} of 1 in ${rows[0]?.token} attempts, exit within ${most} ms of DRAIN_MS ${DRAINS_MS.join(", ")}`,
        holds: right === 1 && overdrawn.length === 0,
      });
      const refused = outages.filter(isRefusedWell).length;
      const slowestMs = Math.round(Math.max(...outages.map(({ consumingMs }) => consumingMs)));
      await noteVerdict({
        promise: "T9",
        injected: `${OUTAGES} × broker away`,
        counted: `creations answered 503 with retry-after ${refused} of ${OUTAGES} in ${Math.round(Math.max(...outages.map(({ refusedMs }) => refusedMs)))} ms at most, consuming ${slowestMs} ms after the port opened`,
        holds: refused === OUTAGES && slowestMs <= CONSUMING_WITHIN_MS,
      });
      expect({ right, overdrawn, refused }).toEqual({ right: 1, overdrawn: [], refused: OUTAGES });
      expect(slowestMs).toBeLessThanOrEqual(CONSUMING_WITHIN_MS);
    },
  );

  it("T9: has lost no job with the queue", { timeout: 10 * MINUTE_MS }, async () => {
    const rows = await untilEnded(service, queued.keys(), 5 * MINUTE_MS);
    const right = await countGood(service, rows, (id) => queued.get(id));
    await noteVerdict({
      promise: "T9",
      injected: `the queue deleted with ${QUEUED} jobs on their way`,
      counted: `confirmed and lost ${QUEUED - right}`,
      holds: right === QUEUED,
    });
    expect(right).toBe(QUEUED);
  });
});

function isRefusedWell({ status, retryAfter, refusedMs }: Outage): boolean {
  return status === 503 && Number(retryAfter) > 0 && refusedMs <= REFUSED_WITHIN_MS;
}

interface Held {
  readonly token: number;
  readonly index: number;
  readonly member: Member;
}

/** Waits until a later attempt than `token` has the job. */
async function heldBeyond(service: Service, id: string, token: number): Promise<Held> {
  for (;;) {
    const [job] = await service.query<{ token: number; worker_id: string; state: string }>(
      "SELECT token, worker_id, state FROM jobs WHERE id = $1 AND token > $2 AND lease_until > now()",
      [id, token],
    );
    const index = service.workers.findIndex(
      ({ name }) => name.replace(" ", "-") === job?.worker_id,
    );
    const member = service.workers[index];
    if (job !== undefined && member !== undefined) return { token: job.token, index, member };
    await sleep(50);
  }
}

/** Takes the broker away, asks for a job meanwhile, and brings it back. */
async function restartBroker(service: Service): Promise<Outage> {
  await service.control("stop_app");
  const askedAt = performance.now();
  const reply = await askFor(service, { seed: 2, steps: 1, stepMs: 0 });
  const refusedMs = performance.now() - askedAt;
  const starting = service.control("start_app");
  await untilOpen(Number(new URL(process.env["AMQP_URL"] ?? "").port));
  const openedAtMs = Date.now();
  await starting;
  const consuming = await Promise.all(service.workers.map((one) => consumesSince(one, openedAtMs)));
  return {
    status: reply?.status ?? 0,
    retryAfter: reply?.headers.get("retry-after") ?? null,
    refusedMs,
    consumingMs: Math.max(...consuming),
  };
}

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(20);
  }
}

/** Milliseconds until the worker's log tells of a channel to consume on that it opened since. */
async function consumesSince({ running }: Member, sinceMs: number): Promise<number> {
  const end = performance.now() + MINUTE_MS;
  for (;;) {
    const times = [
      ...running
        .output()
        .matchAll(/"time":(\d+),[^\n]*"event":"channel-open","connection":"[^"]* consume"/g),
    ];
    const first = times.map(([, time]) => Number(time)).find((time) => time >= sinceMs);
    if (first !== undefined) return first - sinceMs;
    if (performance.now() > end) throw new Error("a worker did not come back to the broker");
    await sleep(50);
  }
}
