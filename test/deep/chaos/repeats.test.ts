import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Artifact } from "#framemill/core/artifact.js";
import type { Lease } from "#framemill/core/job.js";
import { createReporter, type GrpcReporter } from "#framemill/rpc/reporter.js";
import {
  BODY,
  completion,
  createJob,
  type Harness,
  startHarness,
  upload,
  WORKER_TOKEN,
} from "../../support/front-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const RACES = countOf({ short: 60, full: 1_000 });
const RIVALS = 10;
const LIVES = countOf({ short: 5, full: 100 });
const TIMES = 10;
const MINUTE_MS = 60_000;

type Call = () => Promise<unknown>;

describe("reports that arrive again, late and out of order", () => {
  let harness: Harness;
  let reporters: readonly GrpcReporter[];
  beforeAll(async () => {
    harness = await startHarness("postgres");
    const fronts = [harness.front, await harness.startReplica()];
    reporters = fronts.map(({ grpcPort }) =>
      createReporter({ address: `127.0.0.1:${grpcPort}`, token: WORKER_TOKEN }),
    );
  });
  afterAll(async () => {
    await Promise.all((reporters ?? []).map((reporter) => reporter.close()));
    await harness?.close();
  });

  const at = (index: number): GrpcReporter => {
    const reporter = reporters[index % reporters.length];
    if (reporter === undefined) throw new Error("there is no front");
    return reporter;
  };
  const newJob = () => createJob(harness.front, harness.account.key, { ...BODY, seed: 7 });

  it(
    "T5: lease a job once, whoever asks at the same time",
    { timeout: 10 * MINUTE_MS },
    async () => {
      let leases = 0;
      let double = 0;
      for (let race = 0; race < RACES; race += 1) {
        const id = await newJob();
        const answers = await Promise.all(
          Array.from({ length: RIVALS }, (_, rival) => at(rival).claim(id, `worker-${rival}`)),
        );
        const won = answers.filter(({ outcome }) => outcome === "leased").length;
        leases += won;
        double += Math.max(0, won - 1);
      }
      const holds = double === 0 && leases === RACES;
      await noteVerdict({
        promise: "T5",
        injected: `${RACES} races of ${RIVALS} claims at two fronts`,
        counted: `leases ${leases}, double ${double}`,
        holds,
      });
      expect({ leases, double }).toEqual({ leases: RACES, double: 0 });
    },
  );

  it("T5: leave the ledger as if each had come once", { timeout: 10 * MINUTE_MS }, async () => {
    const once = await live(await newJob(), (calls) => calls);
    expect(once).toContain('"amount_micro_usd":720000');
    const lives: string[] = [];
    let shuffles = 0;
    for (let life = 0; life < LIVES; life += 1) {
      const random = createShuffle(life + 1);
      lives.push(
        await live(await newJob(), (calls, earlier) => {
          shuffles += 1;
          return random([...calls, ...earlier].flatMap((call) => Array<Call>(TIMES).fill(call)));
        }),
      );
    }
    const different = lives.filter((lived) => lived !== once).length;
    await noteVerdict({
      promise: "T5",
      injected: `${LIVES} jobs, every call of three attempts × ${TIMES}, ${shuffles} times shuffled`,
      counted: `ledgers that differ ${different}`,
      holds: different === 0,
    });
    expect(new Set(lives)).toEqual(new Set([once]));
  });

  /** Three attempts: released, failed, completed. All calls so far may come again at any time. */
  async function live(
    id: string,
    arrange: (calls: readonly Call[], earlier: readonly Call[]) => readonly Call[],
  ): Promise<string> {
    const earlier: Call[] = [];
    const run = async (calls: readonly Call[]) =>
      await Promise.all(arrange(calls, earlier).map((call) => call()));
    for (const [index, end] of [release, fail, complete].entries()) {
      const lease = await claim(id, `worker-${index}`);
      const files = await upload(harness.store, lease, Buffer.from("0123456789"));
      const again: Call = () => at(index).claim(id, `worker-${index}`);
      const heartbeat: Call = () => at(index + 1).heartbeat(lease, `worker-${index}`);
      const progress: Call = async () =>
        at(index).progress({ ...lease, fraction: 0.5, stage: "steps" });
      const last: Call = () => end(at(index), lease, files);
      await run([again, heartbeat, progress]);
      await run([last, heartbeat]);
      earlier.push(heartbeat, progress, last);
    }
    await run([() => at(0).claim(id, "worker-3")]);
    return await readLife(id);
  }

  async function claim(id: string, workerId: string): Promise<Lease> {
    const answer = await at(0).claim(id, workerId);
    if (answer.outcome !== "leased") throw new Error(`no lease: ${answer.outcome}`);
    return answer.lease;
  }

  /** All that the ledger holds of a job but names and times. */
  async function readLife(id: string): Promise<string> {
    const { rows } = await sql<{ life: unknown }>`
      SELECT json_build_object('job', (SELECT to_jsonb(jobs) - ${TIMES_AND_NAMES}::text[] FROM jobs
          WHERE id = ${id}),
        'charges', (SELECT json_agg(to_jsonb(charges) - ${TIMES_AND_NAMES}::text[]) FROM charges
          WHERE job_id = ${id}),
        'attempts', (SELECT json_agg(to_jsonb(attempts) - ${TIMES_AND_NAMES}::text[] ORDER BY token)
          FROM attempts WHERE job_id = ${id})) AS life`.execute(harness.database);
    return JSON.stringify(rows[0]?.life).replaceAll(id, "job");
  }
});

/** And what the janitor notes of its own work, whenever that is. */
const TIMES_AND_NAMES =
  "{has_leftovers,id,job_id,seq,created_at,started_at,ended_at,expires_at,deadline_at,released_at,republish_after,turn}";

type End = (
  reporter: GrpcReporter,
  lease: Lease,
  files: readonly Artifact[],
) => Promise<{ readonly outcome: string }>;

const release: End = (reporter, { jobId, token }) =>
  reporter.release({ jobId, token, checkpoint: null, gpuMs: 100 });

const fail: End = (reporter, { jobId, token }) => {
  const failure = { code: "inference_crashed", message: "it crashed" } as const;
  return reporter.fail({ jobId, token, failure, retryable: true, gpuMs: 200 });
};

const complete: End = (reporter, lease, files) => reporter.complete(completion(lease, files));

/** Fisher-Yates by a small generator, so that an order can be repeated. */
function createShuffle(seed: number): <T>(members: readonly T[]) => T[] {
  let state = seed;
  return (members) => {
    const shuffled = [...members];
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const other = state % (last + 1);
      const [one, two] = [shuffled[last], shuffled[other]];
      if (one !== undefined && two !== undefined) [shuffled[last], shuffled[other]] = [two, one];
    }
    return shuffled;
  };
}
