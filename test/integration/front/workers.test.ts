import { once } from "node:events";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOperations, type Operations } from "#framemill/front/operations.js";
import type { Worker } from "#framemill/worker/worker.js";
import { delta, say, startHands, words } from "../../support/front-workers.js";
import { ENGINES, startHarness, type Harness } from "../../support/front-harness.js";

/** The next announcement is due within five seconds. */
const SOON = { timeout: 8_000, interval: 50 };

describe.each(ENGINES)("workers that announce themselves over %s", (engine) => {
  let harness: Harness;
  let operations: Operations;
  let client: OpenAI;
  beforeAll(async () => {
    harness = await startHarness(engine);
    operations = createOperations(harness.database, harness.front.keys);
    client = new OpenAI({ baseURL: harness.front.baseUrl, apiKey: harness.account.key });
  });
  afterAll(async () => await harness?.close());

  const findWorker = async () =>
    (await operations.listWorkers()).find(({ workerId }) => workerId === "hands");

  it("are seen with what they hold, and are gone once they have left", async () => {
    const ends = new AbortController();
    const ended = once(ends.signal, "abort");
    const worker = await startHands(harness, async function* () {
      yield { type: "progress", stage: "tokens", fraction: 0.5 };
      yield { type: "chunk", chunk: delta("a") };
      await ended;
      yield { type: "output", output: words("a") };
    });
    expect(await findWorker()).toMatchObject({
      state: "ready",
      device: "no device",
      slots: 1,
      drain: false,
      jobs: [],
    });
    const answer = client.chat.completions.create(say("hello"));
    await expect.poll(async () => (await findWorker())?.jobs.length, SOON).toBe(1);
    await expect.poll(async () => (await findWorker())?.state, SOON).toBe("busy");
    ends.abort();
    await answer;
    await worker.stop();
    expect(await findWorker()).toBeUndefined();
  });

  it("finish what they hold when they are drained, and take no more until they may", async () => {
    const ends = new AbortController();
    const ended = once(ends.signal, "abort");
    const prompts: unknown[] = [];
    const script: Parameters<typeof startHands>[1] = async function* ({ job }) {
      prompts.push(job.id);
      if (prompts.length === 1) await ended;
      yield { type: "output", output: words("done") };
    };
    const worker = await startHands(harness, script);
    const first = client.chat.completions.create(say("one"));
    await expect.poll(() => prompts.length, SOON).toBe(1);
    await operations.drainWorker("hands", true);
    await expect.poll(() => worker.state, SOON).toBe("draining");
    const second = client.chat.completions.create(say("two"));
    ends.abort();
    expect((await first).choices[0]?.message.content).toBe("done");
    expect(prompts).toHaveLength(1);
    await worker.stop();
    const again: Worker = await startHands(harness, script);
    expect(again.state).toBe("draining");
    expect(prompts).toHaveLength(1);
    await operations.drainWorker("hands", false);
    expect((await second).choices[0]?.message.content).toBe("done");
    expect(again.state).not.toBe("draining");
    await again.stop();
  });
});
