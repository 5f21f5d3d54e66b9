import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { chat as chatModality } from "#framemill/modalities/chat/index.js";
import type { Front } from "#framemill/front/front.js";
import { createOperations } from "#framemill/front/operations/operations.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  BODY,
  call,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Account,
  type Harness,
} from "../../support/front-harness.js";
import {
  promptOf,
  say,
  startScriptedWorker,
  words,
  type Script,
} from "../../support/front-workers.js";

const USAGE = { promptTokens: 1_000, completionTokens: 500 };

/** Done before a worker sends an output that is none of chat's. */
let beforeMalformed = async (_jobId: string): Promise<void> => {};

/** Flags every text with the word `forbidden`; answers any chat with `USAGE`. */
const script: Script = async function* ({ job }) {
  if (job.modality === "chat") {
    const prompt = promptOf(job);
    if (prompt.startsWith("malformed")) await beforeMalformed(job.id);
    if (prompt === "malformed piece")
      yield { type: "chunk", chunk: { type: "json", value: { text: "hello" } } };
    const output = prompt === "malformed" ? { choices: [{ finishReason: "stop" }] } : {};
    yield { type: "output", output: { ...words("fine", USAGE), ...output } };
    return;
  }
  const { inputs } = job.request as { inputs: { text: string }[][] };
  const results = inputs.map(([part]) => ({
    scores: [part?.text.includes("forbidden") === true ? 1 : 0, ...Array(12).fill(0)],
    appliedTypes: [],
  }));
  const output = { results, thresholds: Array(13).fill(0.5), inputTokens: 10 };
  yield { type: "output", output };
};

describe("the money of replied jobs", () => {
  let harness: Harness;
  let worker: Worker;
  let folder: string;
  const chat = (front: Front, key: string, prompt = "hello") =>
    call(`${front.baseUrl}/chat/completions`, { key, body: say(prompt) });
  const listJobs = async ({ project }: Account) => {
    const jobs = await createOperations(harness.database, harness.front.keys).listJobs({
      limit: 100,
    });
    return jobs.filter(({ projectId }) => projectId === project.id);
  };
  const startPriced = async (prices: object | string, more: object = {}) => {
    const pricesFile = join(folder, "prices.json");
    await writeFile(pricesFile, typeof prices === "string" ? prices : JSON.stringify(prices));
    return await harness.startReplica({ config: { ...harness.config, pricesFile, ...more } });
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-money-"));
    harness = await startHarness();
    worker = await startScriptedWorker(harness, script);
    beforeMalformed = async (id) => {
      // Two attempts have failed already: the next one is the last.
      await sql`UPDATE jobs SET crashes = 2 WHERE id = ${id}`.execute(harness.database);
    };
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("charges nothing for an output that is none of its modality, and names its worker", async () => {
    const account = await harness.createAccount();
    const answer = await chat(harness.front, account.key, "malformed");
    expect([answer.status, answer.json.error.type]).toEqual([500, "server_error"]);
    const [job] = await listJobs(account);
    expect(job).toMatchObject({ state: "failed", attempts: 1, chargedMicroUsd: 0 });
    expect(harness.logged()).toMatch(
      new RegExp(
        `"jobId":"${job?.id}","workerId":"scripted".*a worker sent an output that cannot be read`,
      ),
    );
  });

  it("charges nothing for a piece of an answer that is none of its modality", async () => {
    const account = await harness.createAccount();
    const answer = await call(`${harness.front.baseUrl}/chat/completions`, {
      key: account.key,
      body: say("malformed piece", { stream: true }),
    });
    expect([answer.status, answer.json.error.code]).toEqual([500, "invalid_output"]);
    const [job] = await listJobs(account);
    expect(job).toMatchObject({ state: "failed", attempts: 1, chargedMicroUsd: 0 });
    expect(harness.logged()).toContain("a worker sent a piece of an answer that cannot be read");
  });

  it("charges the tokens that were counted, and shows them to the operator", async () => {
    const account = await harness.createAccount();
    expect((await chat(harness.front, account.key)).json.usage.total_tokens).toBe(1_500);
    const [job] = await listJobs(account);
    // 1000 × 0.15 + 500 × 0.60 micro-dollars.
    expect(job).toMatchObject({
      modality: "chat",
      model: REPLY_MODELS.chat,
      state: "completed",
      attempts: 1,
      prices: chatModality.prices,
      units: { inputTokens: 1_000, outputTokens: 500 },
      chargedMicroUsd: 450,
      failureCode: null,
    });
    expect(job?.quotedMicroUsd).toBeGreaterThanOrEqual(450);
  });

  it("refuses answers while the minute's tokens are used up, and nothing else", async () => {
    // The minute does not end before the test.
    vi.useFakeTimers({ toFake: ["Date"] });
    const { key } = await harness.createAccount({ tokensPerMinute: 2_000 });
    const first = await chat(harness.front, key);
    expect(first.headers.get("x-ratelimit-remaining-tokens")).toBe("500");
    await expect.poll(() => tokensLeft(key), SOON).toBe("500");
    // The one that crosses the limit is served.
    expect((await chat(harness.front, key)).status).toBe(200);
    await expect.poll(() => tokensLeft(key), SOON).toBe("0");
    const refused = await chat(harness.front, key);
    expect([refused.status, refused.json.error]).toMatchObject([
      429,
      { code: "rate_limit_exceeded", type: "rate_limit_error" },
    ]);
    expect(refused.json.error.message).toContain("2000 tokens a minute");
    const wait = Number(refused.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(refused.headers.get("x-ratelimit-reset-tokens")).toMatch(/^(\d+m)?\d+(ms|s)$/);
    const video = await call(`${harness.front.baseUrl}/videos`, { key, body: BODY });
    expect(video.status).toBe(200);
    expect((await chat(harness.front, harness.account.key)).status).toBe(200);
  });

  it("reserves what an answer may cost, and refuses what the month does not cover", async () => {
    const account = await harness.createAccount({ monthlyLimitMicroUsd: 100 });
    const refused = await chat(harness.front, account.key);
    expect([refused.status, refused.json.error.code]).toEqual([429, "insufficient_quota"]);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(await listJobs(account)).toEqual([]);
  });

  it("takes an operator's prices, and does not start with bad ones", async () => {
    const account = await harness.createAccount();
    const front = await startPriced({ [`chat:${REPLY_MODELS.chat}`]: { outputTokens: 3 } });
    await chat(front, account.key);
    expect((await listJobs(account))[0]).toMatchObject({
      prices: { outputTokens: 3 },
      chargedMicroUsd: 1_500,
    });
    await front.close();
    await expect(startPriced({ chat: { inputTokens: -1 } })).rejects.toThrow(
      /PRICES_FILE .*prices\.json: chat\.inputTokens must be micro-dollars a unit, 0 or more/,
    );
    await expect(startPriced("[")).rejects.toThrow(/PRICES_FILE .* cannot be read/);
  });

  it("refuses a flagged prompt: nothing of it is queued, stored or charged", async () => {
    const account = await harness.createAccount();
    const judged = { moderationModel: REPLY_MODELS.moderation };
    // A price of judgements is for those who ask for them.
    const front = await startPriced({ moderation: { inputTokens: 1_000 } }, judged);
    const refusals = [
      await chat(front, account.key, "something forbidden"),
      await call(`${front.baseUrl}/videos`, {
        key: account.key,
        body: { ...BODY, prompt: "forbidden pictures" },
      }),
      await call(`${front.baseUrl}/completions`, {
        key: account.key,
        body: { model: REPLY_MODELS.chat, prompt: ["a kind word", "a forbidden one"] },
      }),
    ];
    for (const [index, param] of ["messages", "prompt", "prompt"].entries())
      expect([refusals[index]?.status, refusals[index]?.json.error]).toMatchObject([
        400,
        { code: "content_policy_violation", param },
      ]);
    expect(refusals[0]?.json.error.message).toContain("harassment");
    const unread = await call(`${front.baseUrl}/completions`, {
      key: account.key,
      body: { model: REPLY_MODELS.chat, prompt: [3, 4] },
    });
    expect([unread.status, unread.json.error]).toMatchObject([
      400,
      { param: "prompt", message: expect.stringContaining("token ids cannot be") },
    ]);
    const jobs = await listJobs(account);
    const tenant = harness.published.find(({ id }) => id === jobs[0]?.id)?.tenant;
    const sent = harness.published.filter((job) => job.tenant === tenant);
    const judgements = ["moderation", "moderation", "moderation"];
    expect(sent.map(({ modality }) => modality)).toEqual(judgements);
    expect(jobs.map(({ modality }) => modality)).toEqual(judgements);
    expect(await chargedTo(account)).toBe(0);

    expect((await chat(front, account.key, "a kind word")).status).toBe(200);
    expect(await chargedTo(account)).toBe(450);
    const asked = { model: REPLY_MODELS.moderation, input: "a kind word" };
    const body = await call(`${front.baseUrl}/moderations`, { key: account.key, body: asked });
    expect(body.json.results[0].flagged).toBe(false);
    expect(await chargedTo(account)).toBe(450 + 10_000);
    await front.close();
  });

  it("does not start with a judge that it does not serve", async () => {
    const config = { ...harness.config, moderationModel: "unknown-judge" };
    await expect(harness.startReplica({ config })).rejects.toThrow(
      /MODERATION_MODEL .*unknown-judge/,
    );
  });

  async function tokensLeft(key: string) {
    const { headers } = await call(`${harness.front.baseUrl}/models`, { key });
    return headers.get("x-ratelimit-remaining-tokens");
  }

  async function chargedTo({ project }: Account) {
    const { rows } = await sql<{
      sum: number;
    }>`SELECT coalesce(sum(amount_micro_usd), 0)::int AS sum
      FROM charges WHERE project_id = ${project.id}`.execute(harness.database);
    return rows[0]?.sum;
  }
});
