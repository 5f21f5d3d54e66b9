import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService, type Member, type Service } from "./service.js";
import { countGood, submit, type Workload, untilEnded } from "./workloads.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const ROUNDS = countOf({ short: 1, full: 10 });
/** Frozen at once; others go on with their jobs. */
const FROZEN = countOf({ short: 2, full: 10 });
const AWAKE = 2;
/** Longer than a lease, and than a busy front takes to notice. */
const FROZEN_MS = 42_000;
const STOPS_WITHIN_MS = limitOf(6_000);
/** In turn: one that its frozen worker's inference ends meanwhile, and one that it is still at. */
const STEPS = [80, 250];

describe("workers that are frozen beyond their leases", () => {
  let service: Service;
  beforeAll(async () => {
    const workers = Array.from({ length: FROZEN + AWAKE }, () => ({}));
    service = await startService({ fronts: 1, workers });
  }, 10 * MINUTE_MS);
  afterAll(async () => await service?.close());

  it("T3: write nothing once another has their job", { timeout: 60 * MINUTE_MS }, async () => {
    const asked = new Map<string, Workload>();
    const stopsMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let index = 0; index < FROZEN + AWAKE; index += 1) {
        const steps = STEPS[index % STEPS.length] ?? 1;
        const workload = { seed: asked.size, steps, stepMs: 200 };
        asked.set(await submit(service, workload), workload);
      }
      const victims = await untilAtWork(service, FROZEN);
      for (const { running } of victims) running.child.kill("SIGSTOP");
      await sleep(FROZEN_MS);
      stopsMs.push(...(await Promise.all(victims.map((victim) => wake(victim)))));
      await untilEnded(service, asked.keys(), 10 * MINUTE_MS);
    }
    const rows = await untilEnded(service, asked.keys(), 0);
    const right = await countGood(service, rows, (id) => asked.get(id));
    const [stale] = await service.query<{ count: number }>(
      `SELECT count(*)::int FROM attempts JOIN jobs ON jobs.id = attempts.job_id
        WHERE attempts.outcome = 'completed' AND attempts.token <> jobs.token`,
    );
    const taken = rows.filter(({ token }) => token > 1).length;
    const most = Math.round(Math.max(...stopsMs));
    const holds =
      right === asked.size && stale?.count === 0 && taken > 0 && most <= STOPS_WITHIN_MS;
    await noteVerdict({
      promise: "T3",
      injected: `${ROUNDS * FROZEN} workers frozen for ${FROZEN_MS / 1_000} s`,
      counted: `jobs taken over ${taken}, stale writes ${stale?.count}, right and charged once ${right} of ${asked.size}, stopped within ${most} ms`,
      holds,
    });
    expect(holds).toBe(true);
  });
});

/** Waits until so many workers are at work, and gives them. One that has yet to read that it holds a job has none to give up. */
async function untilAtWork({ workers }: Service, count: number): Promise<Member[]> {
  for (;;) {
    const atWork = workers.filter(({ running }) => isAtWork(running.output()));
    if (atWork.length >= count) return atWork.slice(0, count);
    await sleep(100);
  }
}

function isAtWork(output: string): boolean {
  const ended = countIn(output, "job ended") + countIn(output, "attempt failed");
  return countIn(output, "job started") > ended;
}

/** Lets it go on; resolves to how long it then was until it gave up its attempt, in milliseconds. */
async function wake({ running }: Member): Promise<number> {
  const before = countIn(running.output(), "attempt failed");
  const wokenAt = performance.now();
  running.child.kill("SIGCONT");
  while (countIn(running.output(), "attempt failed") === before) {
    if (performance.now() - wokenAt > MINUTE_MS) throw new Error("a woken worker went on");
    await sleep(20);
  }
  return performance.now() - wokenAt;
}

function countIn(output: string, message: string): number {
  return output.split(`"msg":"${message}"`).length - 1;
}
