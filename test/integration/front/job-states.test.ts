import * as fc from "fast-check";
import { type Db, sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FailureReport } from "#framemill/core/reports.js";
import {
  claimJobs,
  completeJobs,
  cancelJob,
  failAttempt,
  recordProgress,
  releaseJob,
  renewLease,
} from "#framemill/front/ledger/jobs.js";
import { ENGINE, startHarness, type Harness } from "../../support/front-harness.js";

/** Many more where there is time: in the run over what is embedded, though on Postgres too. */
const CASES = ENGINE === "pglite" ? 2_000 : 300;

/** The state machine as a person would write it down. */
interface Model {
  state: "queued" | "in_progress" | "completed" | "failed";
  token: number;
  /** A worker has it; `live`: and its lease has not run out. */
  leased: boolean;
  live: boolean;
  crashes: number;
  lapses: number;
  preemptions: number;
  progress: number;
  charges: number;
}

interface Real {
  readonly db: Db;
  readonly id: string;
  readonly projectId: string;
}

type Command = fc.AsyncCommand<Model, Real>;

const FRESH: Model = {
  state: "queued",
  token: 0,
  leased: false,
  live: false,
  crashes: 0,
  lapses: 0,
  preemptions: 0,
  progress: 0,
  charges: 0,
};
const FAILURE = { code: "inference_crashed", message: "exit 139" } as const;
const COST = { prices: { videoSeconds: 1 }, amountMicroUsd: 4 };

async function read({ db, id }: Real): Promise<Model> {
  const { rows } = await sql<Model>`SELECT state, token, lease_until IS NOT NULL AS leased,
      coalesce(lease_until > now(), false) AS live, crashes, lapses, preemptions, progress,
      (SELECT count(*)::int FROM charges WHERE job_id = ${id}) AS charges
    FROM jobs WHERE id = ${id}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the job has gone");
  return row;
}

/** A move that may be made at any time: what it answers and what it leaves are both compared. */
function command(
  name: string,
  expected: (model: Model) => unknown,
  act: (real: Real, model: Readonly<Model>) => Promise<unknown>,
): Command {
  return {
    check: () => true,
    toString: () => name,
    async run(model, real) {
      const before = { ...model };
      expect({ [name]: await act(real, before) }).toEqual({ [name]: expected(model) });
      expect(await read(real)).toEqual(model);
    },
  };
}

const isOpen = ({ state }: Model): boolean => state === "queued" || state === "in_progress";

function end(model: Model, state: Model["state"]): void {
  Object.assign(model, { state, leased: false, live: false });
}

/** Whether a report with a token `age` claims old is the present holder's. */
const holds = (model: Model, age: number): boolean => model.state === "in_progress" && age === 0;

const claim = command(
  "claim",
  (model) => {
    if (!isOpen(model) || model.live) return undefined;
    if (model.leased) model.lapses += 1;
    Object.assign(model, { state: "in_progress", leased: true, live: true });
    return (model.token += 1);
  },
  async ({ db, id }) => (await claimJobs(db, [{ jobId: id, workerId: "worker" }]))[0]?.claim?.token,
);

const lapse = command(
  "lapse",
  (model) => void (model.live = false),
  async ({ db, id }) => {
    await sql`UPDATE jobs SET lease_until = now() - interval '1 second'
      WHERE id = ${id} AND lease_until IS NOT NULL`.execute(db);
  },
);

const cancel = command(
  "cancel",
  (model) => {
    const wasOpen = isOpen(model);
    if (wasOpen) end(model, "failed");
    return wasOpen;
  },
  ({ db, id, projectId }) => cancelJob(db, id, projectId),
);

const renew = (age: number) =>
  command(
    `renew ${age}`,
    (model) => {
      const held = holds(model, age) && model.leased;
      if (held) model.live = true;
      return held;
    },
    async ({ db, id: jobId }, { token }) =>
      (await renewLease(db, { jobId, token: token - age })) !== undefined,
  );

const progress = (age: number, percent: number) =>
  command(
    `progress ${age} ${percent}`,
    (model) => {
      const held = holds(model, age) && model.leased;
      if (held) model.progress = Math.max(model.progress, Math.min(99, percent));
      return held;
    },
    ({ db, id: jobId }, { token }) =>
      recordProgress(db, { jobId, token: token - age }, { percent, stage: "steps" }),
  );

const complete = (age: number) =>
  command(
    `complete ${age}`,
    (model) => {
      const held = holds(model, age);
      if (held) {
        end(model, "completed");
        Object.assign(model, { progress: 100, charges: 1 });
      }
      return held;
    },
    async ({ db, id: jobId }, { token }) => {
      const usage = { videoSeconds: 4, gpuMs: 1 };
      const own = { jobId, token: token - age };
      const report = { ...own, usage, cost: COST, artifacts: [], output: {} };
      const [done] = await completeJobs(db, [
        { report, amountNanoUsd: 4_000, isAwaited: false, isLive: false },
      ]);
      return done !== null;
    },
  );

const fail = (age: number, retryable: boolean, blamed: boolean) =>
  command(
    `fail ${age} ${retryable} ${blamed}`,
    (model) => {
      if (!holds(model, age) || !model.leased) return undefined;
      model.crashes += blamed ? 1 : 0;
      end(model, retryable && model.crashes < 3 ? "in_progress" : "failed");
      return model.state;
    },
    async ({ db, id: jobId }, { token }) => {
      const report: FailureReport = {
        jobId,
        token: token - age,
        failure: FAILURE,
        retryable,
        gpuMs: 1,
      };
      return (await failAttempt(db, report, blamed))?.state;
    },
  );

const release = (age: number) =>
  command(
    `release ${age}`,
    (model) => {
      const held = holds(model, age) && model.leased;
      if (held) {
        end(model, "in_progress");
        model.preemptions += 1;
      }
      return held;
    },
    ({ db, id: jobId }, { token }) =>
      releaseJob(db, { jobId, token: token - age, checkpoint: null, gpuMs: 1 }),
  );

/** Mostly the present token: else hardly a case would come far. */
const age = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) });
const commands = fc.commands(
  [
    fc.constant(claim),
    fc.constant(claim),
    fc.constant(lapse),
    fc.constant(cancel),
    age.map(renew),
    fc.tuple(age, fc.nat(120)).map(([old, percent]) => progress(old, percent)),
    age.map(complete),
    fc.tuple(age, fc.boolean(), fc.boolean()).map((values) => fail(...values)),
    age.map(release),
  ],
  { maxCommands: 25 },
);

describe("the states of a job", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness("postgres");
  });
  afterAll(async () => await harness?.close());

  it("follow the state machine in any order of events", async () => {
    const { database, account } = harness;
    const db = database;
    const projectId = account.project.id;
    let count = 0;
    const setup = async () => {
      const id = `video_${(count += 1)}`;
      await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, tier, prices,
          quoted_units, work, amount_micro_usd, body_hash, deadline_at, republish_after, released_at)
        VALUES (${id}, ${projectId}, ${account.keyId}, 'video', ${id}, '{}', '', '{}', '{}', 4, 4, '',
          now() + interval '1 day', now() + interval '1 day', now())`.execute(db);
      return { model: { ...FRESH }, real: { db, id, projectId } };
    };
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(commands, async (moves) => {
        let last: Model | undefined;
        await fc.asyncModelRun(async () => {
          const started = await setup();
          last = started.model;
          return started;
        }, moves);
        if (last !== undefined) seen.add(last.state);
      }),
      { numRuns: CASES },
    );
    // A check that never came to an end state would prove little.
    expect(seen).toEqual(new Set(["queued", "in_progress", "completed", "failed"]));
  }, 600_000);
});
