import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI from "openai";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createOperations, type Operations } from "#framemill/front/operations/operations.js";
import { delta, say, startScriptedWorker, words } from "../../support/front-workers.js";
import {
  call,
  createJob,
  MODEL,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";

// A worker hears of orders when it announces itself, every five seconds: the tests wait side by side.
describe.concurrent("workers that announce themselves", () => {
  let harness: Harness;
  let operations: Operations;
  let client: OpenAI;
  beforeAll(async () => {
    harness = await startHarness();
    operations = createOperations(harness.database, harness.front.keys);
    client = new OpenAI({
      baseURL: harness.front.baseUrl,
      apiKey: harness.account.key,
      maxRetries: 0,
    });
  });
  afterAll(async () => await harness?.close());

  const findWorker = async (name: string) =>
    (await operations.listWorkers()).find(({ workerId }) => workerId === name);
  const countQueued = async (model: string): Promise<number | undefined> => {
    const { rows } = await sql<{ count: number }>`SELECT count(*)::int AS count FROM jobs
      WHERE model = ${model} AND state = 'queued'`.execute(harness.database);
    return rows[0]?.count;
  };

  it("are listed with their jobs, finish them when drained, and are removed when they stop", async ({
    expect,
  }) => {
    const ends = new AbortController();
    const ended = once(ends.signal, "abort");
    const serves = ({ id }: { readonly id: string }) => id === REPLY_MODELS.chat;
    const worker = await startScriptedWorker(
      harness,
      async function* () {
        yield { type: "progress", stage: "tokens", fraction: 0.5 };
        yield { type: "chunk", chunk: delta("done") };
        await ended;
        yield { type: "output", output: words("done") };
      },
      serves,
    );
    expect(await findWorker("scripted")).toMatchObject({
      state: "ready",
      device: "no device",
      slots: 1,
      drain: false,
      jobs: [],
    });
    const first = client.chat.completions.create(say("one"));
    await expect.poll(async () => (await findWorker("scripted"))?.jobs.length, SOON).toBe(1);
    await operations.drainWorker("scripted", true);
    await expect.poll(async () => (await findWorker("scripted"))?.state, SOON).toBe("busy");
    await expect.poll(() => worker.state, SOON).toBe("draining");

    const leaving = new AbortController();
    const second = client.chat.completions.create(say("two"), { signal: leaving.signal });
    const left = expect(second).rejects.toThrow("aborted");
    await expect.poll(() => countQueued(REPLY_MODELS.chat), SOON).toBe(1);
    ends.abort();
    expect((await first).choices[0]?.message.content).toBe("done");
    await worker.stop();
    expect(await countQueued(REPLY_MODELS.chat)).toBe(1);
    expect(await findWorker("scripted")).toBeUndefined();
    leaving.abort();
    await left;
  });

  it("that are drained when they start take no job until they are undrained", async ({
    expect,
  }) => {
    const model = REPLY_MODELS.unattended;
    await operations.drainWorker("drained", true);
    const worker = await startScriptedWorker(
      harness,
      async function* () {
        yield { type: "output", output: words("at last") };
      },
      ({ id }) => id === model,
      "drained",
    );
    expect(worker.state).toBe("draining");
    const answer = client.chat.completions.create({ ...say("now?"), model });
    await expect.poll(() => countQueued(model), SOON).toBe(1);
    await operations.drainWorker("drained", false);
    expect((await answer).choices[0]?.message.content).toBe("at last");
    expect(worker.state).not.toBe("draining");
    await worker.stop();
  });

  it("answer callers while a polled job holds their only slot", async ({ expect }) => {
    const { key } = harness.account;
    const answered = new AbortController();
    const afterwards = once(answered.signal, "abort");
    const served = new Set([MODEL, REPLY_MODELS.embeddings]);
    const models = harness.models.map((model) => ({ ...model, concurrency: 1 }));
    const vectors = Buffer.from(Float32Array.of(1, 0).buffer).toString("base64");
    const worker = await startScriptedWorker(
      { ...harness, models },
      async function* ({ job, scratchPath }) {
        if (job.modality === "embeddings") {
          yield { type: "output", output: { dimensions: 2, vectors, inputTokens: 1 } };
          return;
        }
        await afterwards;
        const path = join(scratchPath, "content.mp4");
        await writeFile(path, "frames");
        yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
        yield { type: "output", output: { frameCount: 96 } };
      },
      ({ id }) => served.has(id),
      "shared",
    );
    const clips = [await createJob(harness.front, key), await createJob(harness.front, key)];
    await expect.poll(async () => (await findWorker("shared"))?.jobs.length, SOON).toBe(1);
    for (const input of ["one", "two"]) {
      const { data } = await client.embeddings.create({ model: REPLY_MODELS.embeddings, input });
      expect(data).toHaveLength(1);
    }
    expect(await countQueued(MODEL)).toBe(1);
    answered.abort();
    await expect.poll(async () => await countQueued(MODEL), SOON).toBe(0);
    for (const id of clips)
      await expect
        .poll(
          async () => (await call(`${harness.front.baseUrl}/videos/${id}`, { key })).json.status,
          SOON,
        )
        .toBe("completed");
    await worker.stop();
  });
});
