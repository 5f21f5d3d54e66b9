import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { Front } from "#framemill/front/front.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  call,
  claim,
  countCharges,
  lapse,
  openaiClient,
  janitorRuns,
  REPLY_MODELS,
  SOON,
  startHarness,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";
import { createGate } from "../../support/queue-harness.js";
import {
  delta,
  eventsIn,
  openJob,
  promptOf,
  readJob,
  say,
  startScriptedWorker,
  textIn,
  words,
  wordsCompletion,
  type Script,
} from "../../support/front-workers.js";

const STREAM = { stream: true };

describe("replied jobs", () => {
  let harness: Harness;
  let worker: Worker;
  const scripts = new Map<string, Script>();
  const ask = (body: object, options: CallOptions = {}) =>
    call(`${harness.front.baseUrl}/chat/completions`, {
      key: harness.account.key,
      body,
      ...options,
    });
  const askUnattended = (more: object = {}) =>
    ask({ ...say("wait", more), model: REPLY_MODELS.unattended });
  const handlers = () => harness.front.handlers;

  beforeAll(async () => {
    harness = await startHarness();
    worker = await startScriptedWorker(harness, (task, signal) => {
      const script = scripts.get(promptOf(task.job));
      if (script === undefined) throw new JobError("server_error", "no script");
      return script(task, signal);
    });
  });
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
  });

  it("answers the stock client, whole and as a stream", async () => {
    scripts.set("greet", async function* ({ job }) {
      const isStream = (job.request as { stream: boolean }).stream;
      if (isStream)
        for (const text of ["Good ", "day"]) yield { type: "chunk", chunk: delta(text) };
      yield { type: "output", output: words("Good day") };
    });
    const { chat } = openaiClient(harness.front, harness.account.key);
    const whole = await chat.completions.create(say("greet"));
    expect(whole.choices[0]?.message.content).toBe("Good day");
    expect(whole.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    const streaming = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await chat.completions.create({ ...say("greet"), ...streaming });
    let text = "";
    let total: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      total = chunk.usage?.total_tokens ?? total;
    }
    expect([text, total]).toEqual(["Good day", 15]);
  });

  it("sends chunks while they are made, with the headers of an event stream", async () => {
    const gate = new AbortController();
    scripts.set("slowly", async function* () {
      yield { type: "chunk", chunk: delta("first") };
      await new Promise((resolve) => gate.signal.addEventListener("abort", resolve));
      yield { type: "chunk", chunk: delta(" second") };
      yield { type: "output", output: words("first second") };
    });
    const { body, headers } = await post(say("slowly", STREAM));
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-request-id": expect.stringMatching(/^req_/),
      "x-ratelimit-remaining-tokens": expect.stringMatching(/^\d+$/),
    });
    let text = "";
    for await (const piece of body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (textIn(text) === "first") gate.abort();
    }
    expect(textIn(text)).toBe("first second");
    expect(eventsIn(text).at(-1)).toBe("[DONE]");
  });

  it("gives a failure its own status before the first byte, and an event after it", async () => {
    const message = "the prompt has 5000 tokens, the model takes 4096";
    const failure = new JobError("context_length_exceeded", message, { param: "messages" });
    const error = { message, param: "messages", code: "context_length_exceeded" };
    // oxlint-disable-next-line require-yield
    scripts.set("too long", async function* () {
      throw failure;
    });
    for (const more of [{}, STREAM]) {
      const refused = await ask(say("too long", more));
      expect([refused.status, refused.json.error]).toMatchObject([400, error]);
      expect(refused.json.error.type).toBe("invalid_request_error");
    }
    scripts.set("break", async function* () {
      yield { type: "chunk", chunk: delta("half") };
      throw failure;
    });
    const broken = await ask(say("break", STREAM));
    expect([broken.status, textIn(broken.text)]).toEqual([200, "half"]);
    expect(eventsIn(broken.text).at(-1)).toMatchObject({ error });
    expect(broken.text).not.toContain("[DONE]");
  });

  it.each([STREAM, {}])("ends the job of a caller who goes away: %j", async (more) => {
    const stopped = createGate();
    let id = "";
    scripts.set("endless", async function* ({ job }, signal) {
      id = job.id;
      yield { type: "chunk", chunk: delta("once") };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      stopped.open();
      throw new JobError("cancelled", "stopped");
    });
    const front = await startDeafToHeartbeats();
    const request = send(front, harness.account.key, say("endless", more));
    request.on("error", () => {});
    if ("stream" in more) await once((await once(request, "response"))[0], "data");
    await expect.poll(async () => (await readJob(harness, id))?.state, SOON).toBe("in_progress");
    request.destroy();
    await stopped.opened;
    // The worker may know that the stream is closed before the ledger's statement has ended.
    await expect
      .poll(() => readJob(harness, id), SOON)
      .toMatchObject({ state: "failed", code: "cancelled" });
    expect(await countCharges(harness.database, id)).toBe(0);
  });

  it("restarts a stream after a lost attempt of which nothing was read", async () => {
    const answer = askUnattended(STREAM);
    const id = await openJob(harness);
    const lost = await claim(harness.front, id);
    await handlers().progress({ ...lost, fraction: 0, stage: "starting" });
    await lapse(harness.database, id);
    const next = await claim(harness.front, id);
    const held = await handlers().progress({ ...next, ...PROGRESS, chunks: [delta("fresh")] });
    expect(held).toEqual({ outcome: "held", cancel: false });
    const refused = await handlers().progress({ ...lost, ...PROGRESS, chunks: [delta("late")] });
    expect(refused.outcome).toBe("stale");
    expect((await handlers().complete(wordsCompletion(lost, words("late")))).outcome).toBe("stale");
    await handlers().complete(wordsCompletion(next, words("fresh")));
    const { text } = await answer;
    expect(textIn(text)).toBe("fresh");
    expect(eventsIn(text).at(-1)).toBe("[DONE]");
    expect(await countCharges(harness.database, id)).toBe(1);
  });

  it("fails a stream where an attempt follows one that was partly read", async () => {
    const answer = post({ ...say("wait", STREAM), model: REPLY_MODELS.unattended });
    const id = await openJob(harness);
    const lost = await claim(harness.front, id);
    await handlers().progress({ ...lost, ...PROGRESS, chunks: [delta("half")] });
    const { body } = await answer;
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const begun = await readOn(reader, (text) => textIn(text) === "half");
    await lapse(harness.database, id);
    const next = await claim(harness.front, id);
    const held = await handlers().progress({ ...next, ...PROGRESS });
    expect(held).toEqual({ outcome: "held", cancel: true });
    const text = begun + (await readOn(reader));
    expect(textIn(text)).toBe("half");
    expect(eventsIn(text).at(-1)).toMatchObject({ error: { code: "inference_crashed" } });
    await expect.poll(async () => (await readJob(harness, id))?.state, SOON).toBe("failed");
    expect(await countCharges(harness.database, id)).toBe(0);
  });

  it("disconnects a caller who leaves too much unread", async () => {
    let id = "";
    let made = 0;
    scripts.set("flood", async function* ({ job }, signal) {
      id = job.id;
      // 45 MB: what a front keeps unread, and as much again in the sockets' buffers and on the way.
      for (; made < 300 && !signal.aborted; made += 1) {
        yield { type: "chunk", chunk: delta("x".repeat(150 * 1024)) };
        await nextTurn();
      }
      if (!signal.aborted) await once(signal, "abort");
      throw new JobError("cancelled", "stopped");
    });
    const response = await readNothing(harness, say("flood", STREAM));
    await expect.poll(async () => (await readJob(harness, id))?.state, SOON).toBe("failed");
    expect(made * 150 * 1024).toBeGreaterThan(16 * 1024 * 1024);
    const broken = new Promise((resolve) => response.on("error", resolve).on("close", resolve));
    response.resume();
    await broken;
    expect(response.complete).toBe(false);
    expect(await countCharges(harness.database, id)).toBe(0);
  });

  it("makes the answer of a key of idempotency once, and gives it again", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    let count = 0;
    scripts.set("once", async function* () {
      count += 1;
      await ended;
      yield { type: "output", output: words("once") };
    });
    const headers = { "idempotency-key": "once" };
    const first = ask(say("once"), { headers });
    await expect.poll(() => count, SOON).toBe(1);
    const early = await ask(say("once"), { headers });
    end();
    const answer = await first;
    expect(answer.status).toBe(200);
    const again = await ask(say("once"), { headers });
    expect([again.status, again.json, count]).toEqual([200, answer.json, 1]);
    expect(again.headers.get("x-job-id")).toBe(answer.json.id);
    const other = await ask(say("once", { n: 2 }), { headers });
    const streaming = { headers: { "idempotency-key": "a stream" } };
    expect((await ask(say("once", { stream: true }), streaming)).status).toBe(200);
    const streamed = await ask(say("once", { stream: true }), streaming);
    for (const refused of [early, other, streamed]) {
      expect([refused.status, refused.json.error.code]).toEqual([409, "idempotency_conflict"]);
      expect(refused.headers.get("x-should-retry")).toBe("false");
    }
  });

  it("frees a key of idempotency whose first answer failed", async () => {
    let tries = 0;
    scripts.set("second try", async function* () {
      tries += 1;
      if (tries === 1) throw new JobError("context_length_exceeded", "too long");
      yield { type: "output", output: words("second try") };
    });
    const headers = { "idempotency-key": "second-try" };
    const statuses = [];
    for (let index = 0; index < 3; index += 1)
      statuses.push((await ask(say("second try"), { headers })).status);
    expect([statuses, tries]).toEqual([[400, 200, 200], 2]);
  });

  it("does not run a job that no worker claimed in time", async () => {
    const answer = askUnattended();
    const id = await openJob(harness);
    await sql`UPDATE jobs SET deadline_at = now() WHERE id = ${id}`.execute(harness.database);
    expect((await handlers().claim(id, "late")).outcome).toBe("already-done");
    await janitorRuns(harness);
    const { status, json } = await answer;
    expect([status, json.error.code]).toEqual([500, "deadline_exceeded"]);
    expect(await countCharges(harness.database, id)).toBe(0);
  });

  /** A replica that tells workers nothing at their heartbeats: its report stream alone can. */
  async function startDeafToHeartbeats(): Promise<Front> {
    const front = await harness.startReplica();
    const held = { outcome: "held", leaseMs: 30_000, cancel: false, drain: false } as const;
    Object.assign(front.handlers, { heartbeat: async () => held });
    return front;
  }

  async function post(body: object) {
    const response = await fetch(`${harness.front.baseUrl}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${harness.account.key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    if (response.body === null) throw new Error("no body");
    return { body: response.body, headers: response.headers };
  }
});

const PROGRESS = { fraction: 0.5, stage: "words" };

/** Reads until what came so far will do, or to the end. */
async function readOn(
  reader: ReadableStreamDefaultReader<string>,
  willDo: (text: string) => boolean = () => false,
): Promise<string> {
  let text = "";
  while (!willDo(text)) {
    const { done, value = "" } = await reader.read();
    if (done) break;
    text += value;
  }
  return text;
}

/** A request on a connection of its own. */
function send(front: Front, key: string, body: object): ClientRequest {
  const request = httpRequest(`${front.baseUrl}/chat/completions`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  return request.end(JSON.stringify(body));
}

/** An answer of which nothing is read. */
async function readNothing({ front, account }: Harness, body: object): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const request = send(front, account.key, body);
    request.on("response", (response) => resolve(response.pause())).on("error", reject);
  });
}
