import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Chunk } from "#framemill/core/events.js";
import type { Units } from "#framemill/core/usage.js";
import type { Worker } from "#framemill/worker/worker.js";
import { partialChunks } from "#framemill/modalities/image/partial-chunks.js";
import {
  call,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";
import {
  delta,
  eventsIn,
  say,
  startScriptedWorker,
  textIn,
  type Script,
} from "../../support/front-workers.js";
import { hangUp } from "../../support/hang-up.js";

const STREAM = { stream: true };

/** Seven tokens of prompt, and one for each piece. */
function piece(index: number): Chunk {
  return { ...delta(`${index} `), units: { inputTokens: 7, outputTokens: index + 1 } };
}

describe("a caller who hangs up", () => {
  let harness: Harness;
  let worker: Worker;
  let script: Script;
  /** Of the worker: whether it was asked to stop. */
  let stopped = Promise.resolve();
  beforeAll(async () => {
    harness = await startHarness();
    worker = await startScriptedWorker(harness, (task, signal) => {
      stopped = new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
      return script(task, signal);
    });
  });
  afterEach(async () => await stopped);
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
  });

  /** Pieces without end; the caller is gone before it. */
  const endless: Script = async function* (_task, signal) {
    for (let index = 0; !signal.aborted; index += 1) {
      yield { type: "chunk", chunk: piece(index) };
      await new Promise((resolve) => setImmediate(resolve));
    }
    signal.throwIfAborted();
  };
  const chargeOf = async (projectId: string) => {
    const { rows } = await sql<{ units: Units; nano: number; code: string }>`
      SELECT counted_units AS units, charges.amount_nano_usd::int AS nano, failure ->> 'code' AS code
      FROM charges JOIN jobs ON jobs.id = job_id WHERE charges.project_id = ${projectId}`.execute(
      harness.database,
    );
    return rows;
  };
  const endOf = async (projectId: string) => {
    const { rows } = await sql<{ state: string }>`SELECT state FROM jobs
      WHERE project_id = ${projectId}`.execute(harness.database);
    return rows[0]?.state;
  };

  it("is charged for the tokens that were written to the connection, and no more", async () => {
    script = endless;
    const { key, project } = await harness.createAccount({ tokensPerMinute: 1_000_000 });
    const text = await hangUp(`${harness.front.baseUrl}/chat/completions`, {
      key,
      body: say("go on", STREAM),
      isEnough: (received) => textIn(wholeEvents(received)).includes(" 12 "),
      how: "half-close",
    });
    const outputTokens = textIn(text).trim().split(" ").length;
    expect(outputTokens).toBeGreaterThanOrEqual(13);
    await expect
      .poll(() => chargeOf(project.id), SOON)
      .toEqual([
        {
          units: { inputTokens: 7, outputTokens },
          nano: 7 * 150 + outputTokens * 600,
          code: "cancelled",
        },
      ]);
    const { headers } = await call(`${harness.front.baseUrl}/models`, { key });
    const left = Number(headers.get("x-ratelimit-remaining-tokens"));
    // A new minute may have begun since.
    expect([1_000_000 - 7 - outputTokens, 1_000_000]).toContain(left);
    const month = await call(`${harness.front.baseUrl}/charges/${eventsIn(text).map(idOf)[0]}`, {
      key,
    });
    expect(month.json).toMatchObject({ amount: (7 * 150 + outputTokens * 600) / 1e9 });
  });

  it("is charged once where the job was cancelled before, within the month's limit", async () => {
    let yielded = 0;
    script = async function* (_task, signal) {
      for (; yielded < 5; yielded += 1) yield { type: "chunk", chunk: piece(yielded) };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    };
    // Five tokens of what the request may cost at most are more than a tenth of the limit.
    const { key, project } = await harness.createAccount({ monthlyLimitMicroUsd: 620 });
    const body = { ...say("stop", STREAM), max_tokens: 8 };
    let operator: Promise<unknown> | undefined;
    await hangUp(`${harness.front.baseUrl}/chat/completions`, {
      key,
      body,
      isEnough: (received) => {
        if (!textIn(wholeEvents(received)).includes("4 ")) return false;
        operator ??= sql`UPDATE jobs SET state = 'failed', ended_at = now(), lease_until = NULL,
            worker_id = NULL, failure = '{"code": "cancelled", "message": "An operator did."}'
          WHERE project_id = ${project.id}`.execute(harness.database);
        return received.includes("event: error") || received.includes('"error"');
      },
      how: "reset",
    });
    await operator;
    await expect
      .poll(() => chargeOf(project.id), SOON)
      .toMatchObject([{ units: { inputTokens: 7, outputTokens: 5 }, nano: 4_050 }]);
    const { status, json } = await call(`${harness.front.baseUrl}/chat/completions`, { key, body });
    expect([status, json.error.code]).toEqual([429, "insufficient_quota"]);
    expect(json.error.message).toContain("$0.00000405 is spent");
  });

  it("is not charged before the first chunk, nor for a job that failed by itself", async () => {
    script = async function* (_task, signal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
      yield* [];
    };
    const early = await harness.createAccount();
    const gone = new AbortController();
    const asked = fetch(`${harness.front.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${early.key}`, "content-type": "application/json" },
      body: JSON.stringify(say("wait")),
      signal: gone.signal,
    }).catch(() => undefined);
    await expect.poll(() => endOf(early.project.id), SOON).toBe("in_progress");
    gone.abort();
    await asked;
    await expect.poll(() => endOf(early.project.id), SOON).toBe("failed");
    expect(await chargeOf(early.project.id)).toEqual([]);
    script = async function* () {
      yield { type: "chunk", chunk: piece(0) };
      throw new Error("out of luck");
    };
    const account = await harness.createAccount();
    stopped = Promise.resolve();
    const answer = await call(`${harness.front.baseUrl}/chat/completions`, {
      key: account.key,
      body: say("fail", STREAM),
    });
    expect(answer.text).toContain("0 ");
    await expect.poll(() => endOf(account.project.id), SOON).toBe("failed");
    expect(await chargeOf(account.project.id)).toEqual([]);
    stopped = Promise.resolve();
  });

  it("is charged for the characters whose sound was written", async () => {
    const { key, project } = await harness.createAccount();
    const [characters, length] = [5, 1_000];
    script = async function* (_task, signal) {
      for (let index = 1; !signal.aborted; index += 1) {
        const units = { characters: characters * index };
        yield { type: "chunk", chunk: { type: "bytes", bytes: Buffer.alloc(length, "x"), units } };
        await new Promise((resolve) => setImmediate(resolve));
      }
      signal.throwIfAborted();
    };
    const sound = await hangUp(`${harness.front.baseUrl}/audio/speech`, {
      key,
      body: {
        model: REPLY_MODELS.speech,
        voice: "anyone",
        input: "a".repeat(4_000),
        stream_format: "audio",
      },
      isEnough: (received) => received.length >= 20 * length,
      how: "half-close",
    });
    // The quote is all that the text can cost.
    const delivered = Math.min(4_000, characters * (sound.length / length));
    expect(delivered).toBeGreaterThanOrEqual(20 * characters);
    await expect
      .poll(() => chargeOf(project.id), SOON)
      .toMatchObject([
        { units: { characters: delivered }, nano: delivered * 15_000, code: "cancelled" },
      ]);
  });

  it("is charged for partial pictures that were sent, and for no token beyond the quote", async () => {
    const { key, project } = await harness.createAccount();
    script = async function* (_task, signal) {
      const bytes = Buffer.alloc(500_000, 7);
      for (const index of [0, 1, 2, 3])
        for (const chunk of partialChunks({ partial: 0, index, width: 8, height: 8, bytes }))
          yield { type: "chunk", chunk };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    };
    const shown = /"image_index":(\d)/g;
    const text = await hangUp(`${harness.front.baseUrl}/images/generations`, {
      key,
      body: { model: REPLY_MODELS.image, prompt: "a boat", n: 3, stream: true, partial_images: 1 },
      isEnough: (received) => (received.match(shown) ?? []).length >= 2,
      how: "half-close",
    });
    const images = Math.min(3, [...wholeEvents(text).matchAll(shown)].length);
    expect(images).toBeGreaterThan(0);
    await expect
      .poll(() => chargeOf(project.id), SOON)
      .toMatchObject([{ units: { images }, nano: images * 20_000_000 }]);
  });
});

/** Without the event that is cut at its end. */
function wholeEvents(text: string): string {
  return text.slice(0, text.lastIndexOf("\n\n") + 2);
}

function idOf(event: unknown): string {
  return (event as { id?: string }).id ?? "";
}
