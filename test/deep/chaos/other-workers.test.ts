import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createReporter, type GrpcReporter } from "#framemill/rpc/reporter.js";
import { WORKER_TOKEN } from "../../support/front-harness.js";
import type { LedgerRow } from "./event-log.js";
import { rebuildNewer, rebuildOlder } from "./other-builds.js";
import { startService, type Service } from "./service.js";
import { countGood, submit, type Workload, untilEnded } from "./workloads.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
/** After the end of a lease. */
const LATE_MS = limitOf(1_000);
const JOBS = countOf({ short: 24, full: 150 });
const LEAVES = countOf({ short: 2, full: 8 });
const EXPIRIES = countOf({ short: 0, full: 4 });
/** Of the service's workers. */
const [OLDER, NEWER, AHEAD, BEHIND] = [0, 1, 2, 3];

describe("workers of different versions", () => {
  let service: Service;
  let reporter: GrpcReporter;
  beforeAll(async () => {
    const leaving = { DRAIN_MS: "2000" };
    service = await startService({
      fronts: 1,
      workers: [
        { environment: leaving, rebuild: rebuildOlder },
        { environment: leaving, rebuild: rebuildNewer },
        { environment: await clock("+1h") },
        { environment: await clock("-1h") },
      ],
    });
    reporter = createReporter({ address: service.grpcAddresses[0] ?? "", token: WORKER_TOKEN });
  }, 2 * MINUTE_MS);
  afterAll(async () => {
    await reporter?.close();
    await service?.close();
  });

  const asked = new Map<string, Workload>();
  const send = async (fields: Omit<Workload, "seed">): Promise<string> => {
    const workload = { seed: asked.size + 1, ...fields };
    const id = await submit(service, workload);
    asked.set(id, workload);
    return id;
  };
  const good = (rows: readonly LedgerRow[]) => countGood(service, rows, (id) => asked.get(id));

  it("T18: share jobs over two versions of the contract", { timeout: 15 * MINUTE_MS }, async () => {
    const ids = await Promise.all(
      Array.from({ length: JOBS }, () => send({ steps: 12, stepMs: 200 })),
    );
    for (let leave = 0; leave < LEAVES; leave += 1) {
      const member = service.workers[leave % 2 === 0 ? OLDER : NEWER];
      if (member === undefined) throw new Error("there is no worker");
      await heldBy(service, member.name);
      await member.running.stop("SIGTERM");
      await member.restart();
    }
    const rows = await untilEnded(service, ids, 10 * MINUTE_MS);
    const done = await service.query<{ worker_id: string; count: number }>(
      "SELECT worker_id, count(*)::int FROM attempts WHERE outcome = 'completed' GROUP BY worker_id",
    );
    const by = (index: number) =>
      done.find(({ worker_id: id }) => id === `worker-${index}`)?.count ?? 0;
    const right = await good(rows);
    const holds = right === JOBS && by(OLDER) > 0 && by(NEWER) > 0 && by(AHEAD) > 0;
    await noteVerdict({
      promise: "T18",
      injected: `workers of an older, a newer and today's contract, ${LEAVES} sent SIGTERM`,
      counted: `charged once with the right bytes ${right} of ${JOBS}; by the older ${by(OLDER)}, the newer ${by(NEWER)}, today's ${by(AHEAD) + by(BEHIND)}`,
      holds,
    });
    expect(holds).toBe(true);
  });

  it("T11: hold and lose leases by the ledger's clock", { timeout: 15 * MINUTE_MS }, async () => {
    // Over two heartbeats, on each worker.
    const long = await Promise.all(service.workers.map(() => send({ steps: 55, stepMs: 200 })));
    const rows = await untilEnded(service, long, 3 * MINUTE_MS);
    const lost = rows.filter(({ token }) => token !== 1).length;
    const offMs: number[] = [];
    for (let time = 0; time < EXPIRIES; time += 1)
      offMs.push(...(await Promise.all([AHEAD, BEHIND].map((index) => expire(index)))));
    const most = Math.round(Math.max(0, ...offMs.map(Math.abs)));
    const right = await good(rows);
    const holds = lost === 0 && right === long.length && most <= LATE_MS;
    await noteVerdict({
      promise: "T11",
      injected: `workers' clocks + 1 h and - 1 h, ${offMs.length} killed`,
      counted: `leases lost ${lost} of ${long.length}, expiry off by ${most} ms at most`,
      holds,
    });
    expect({ lost, right }).toEqual({ lost: 0, right: long.length });
    expect(most).toBeLessThanOrEqual(LATE_MS);
  });

  /** Kills the worker in mid-job; resolves to how long after its lease's end the job had another one, in milliseconds. */
  async function expire(index: number): Promise<number> {
    const member = service.workers[index];
    if (member === undefined) throw new Error("there is no worker");
    const workloads = await Promise.all(
      service.workers.map(() => send({ steps: 20, stepMs: 200 })),
    );
    const { id, token } = await heldBy(service, member.name);
    await member.running.stop("SIGKILL");
    const [lease] = await service.query<{ until: string }>(
      "SELECT lease_until::text AS until FROM jobs WHERE id = $1 AND token = $2",
      [id, token],
    );
    const offMs = await untilLeasedAgain(id, token, lease?.until ?? "");
    await member.restart();
    await untilEnded(service, workloads, 3 * MINUTE_MS);
    return offMs;
  }

  /** Somebody who asks all the time is not alone: the message comes to the other workers, too. */
  async function untilLeasedAgain(id: string, token: number, until: string): Promise<number> {
    for (;;) {
      const answer = await reporter.claim(id, "tester");
      if (answer.outcome === "leased") {
        const mine = answer.lease.token;
        await reporter.release({ jobId: id, token: mine, checkpoint: null, gpuMs: 0 });
      }
      const [next] = await service.query<{ delayMs: number }>(
        `SELECT extract(epoch FROM started_at - $3::timestamptz)::float8 * 1000 AS "delayMs"
          FROM attempts WHERE job_id = $1 AND token = $2`,
        [id, token + 1, until],
      );
      if (next !== undefined) return next.delayMs;
      await sleep(50);
    }
  }
});

interface Held {
  readonly id: string;
  readonly token: number;
}

/** Waits until the worker begins a job; resolves to its lease. */
async function heldBy(service: Service, name: string): Promise<Held> {
  for (;;) {
    const [job] = await service.query<Held>(
      `SELECT id, token::int FROM jobs WHERE worker_id = $1 AND state = 'in_progress'
        AND lease_until > now() + interval '29.8 seconds'`,
      [name.replace(" ", "-")],
    );
    if (job !== undefined) return job;
    await sleep(20);
  }
}

/** What makes a process believe in another time of day, while durations stay what they are. */
async function clock(offset: string): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)("faketime", [
    "-f",
    offset,
    "printenv",
    "LD_PRELOAD",
  ]);
  return { LD_PRELOAD: stdout.trim(), FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}
