import type OpenAI from "openai";
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Worker } from "#framemill/worker/worker.js";
import {
  call,
  countCharges,
  openaiClient,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";
import {
  delta,
  promptOf,
  startScriptedWorker,
  words,
  type Script,
} from "../../support/front-workers.js";

const model = REPLY_MODELS.chat;

describe("stored responses", () => {
  let harness: Harness;
  let worker: Worker;
  let client: OpenAI;
  /** Prompts that the worker has begun, and what lets it go on. */
  const begun = new Map<string, () => void>();
  const stopped: string[] = [];

  /** Writes its prompt, when it may; one that begins with `hello` may at once. */
  const script: Script = async function* ({ job }, signal) {
    const prompt = promptOf(job);
    yield { type: "chunk", chunk: delta(prompt) };
    await new Promise<void>((resolve) => {
      begun.set(prompt, resolve);
      if (prompt.startsWith("hello")) resolve();
      signal.addEventListener("abort", () => {
        stopped.push(prompt);
        resolve();
      });
    });
    yield { type: "output", output: words(prompt) };
  };
  const hasBegun = async (prompt: string) =>
    await expect.poll(() => begun.has(prompt), SOON).toBe(true);
  const finish = (prompt: string) => begun.get(prompt)?.();
  const create = (input: string, more: Partial<ResponseCreateParamsNonStreaming> = {}) =>
    client.responses.create({ model, input, background: true, ...more });
  const ended = async ({ id }: Response): Promise<Response> =>
    await client.get(`/responses/${id}`, { query: { wait: "60" } });
  const collect = async (stream: AsyncIterable<ResponseStreamEvent>) => {
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    return events;
  };

  beforeAll(async () => {
    harness = await startHarness();
    worker = await startScriptedWorker(harness, script);
    client = openaiClient(harness.front, harness.account.key);
  });
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
  });

  it("answer a background request before it has ended, and go on without their caller", async () => {
    const queued = await create("slowly");
    expect(queued).toMatchObject({ background: true, output: [], usage: null });
    // A worker may have it before it is read for the answer.
    expect(["queued", "in_progress"]).toContain(queued.status);
    await hasBegun("slowly");
    const running = await client.responses.retrieve(queued.id);
    expect(running.status).toBe("in_progress");
    finish("slowly");
    expect(await ended(queued)).toMatchObject({ status: "completed", usage: { total_tokens: 15 } });
    expect((await client.responses.retrieve(queued.id)).output_text).toBe("slowly");
    expect(await countCharges(harness.database, queued.id)).toBe(1);
  });

  it("count the tokens of a background answer against the project's minute", async () => {
    const { key } = await harness.createAccount();
    const own = openaiClient(harness.front, key);
    const remaining = async () => {
      const { headers } = await call(`${harness.front.baseUrl}/models`, { key });
      return Number(headers.get("x-ratelimit-remaining-tokens"));
    };
    const before = await remaining();
    await own.responses.create({ model, input: "hello", background: true });
    await expect.poll(remaining, SOON).toBe(before - 15);
  });

  it("stop when they are cancelled", async () => {
    const response = await create("to be cancelled");
    await hasBegun("to be cancelled");
    expect(await client.responses.cancel(response.id)).toMatchObject({ status: "cancelled" });
    await expect.poll(() => stopped, SOON).toContain("to be cancelled");
    expect(await countCharges(harness.database, response.id)).toBe(0);
    const events = await collect(await client.responses.retrieve(response.id, { stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { status: "cancelled" },
    });
  });

  it("are one where the request comes again with its key, and refuse what is not stored", async () => {
    const options = { headers: { "Idempotency-Key": "twice" } };
    const ask = () =>
      client.responses.create({ model, input: "hello twice", background: true }, options);
    expect((await ask()).id).toBe((await ask()).id);
    await expect(create("hello", { store: false })).rejects.toMatchObject({
      status: 400,
      param: "background",
    });
  });

  it("stream what a background request has come to, and go on where a stream broke off", async () => {
    const first = await client.responses.create({
      model,
      input: "followed",
      background: true,
      stream: true,
    });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of first) {
      seen.push(event);
      if (event.type === "response.in_progress") break;
    }
    const [created] = seen;
    const id = created?.type === "response.created" ? created.response.id : "";
    const query = { stream: true, starting_after: seen.at(-1)?.sequence_number ?? 0 } as const;
    const rest = collect(await client.responses.retrieve(id, query));
    finish("followed");
    seen.push(...(await rest));
    expect(seen.map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(seen.map(({ sequence_number: number }) => number)).toEqual([...seen.keys()]);
    const again = await collect(await client.responses.retrieve(id, { stream: true }));
    expect(again).toEqual(seen);
    expect(again.at(-1)).toMatchObject({ response: await client.get(`/responses/${id}`) });
  });

  it("stream again what was waited for, from the beginning alone", async () => {
    const { id } = await client.responses.create({ model, input: "hello again" });
    const events = await collect(await client.responses.retrieve(id, { stream: true }));
    expect(
      events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")),
    ).toContain("hello again");
    expect(events.at(-1)?.type).toBe("response.completed");
    const later = client.responses.retrieve(id, { stream: true, starting_after: 1 });
    await expect(later).rejects.toMatchObject({ status: 400, param: "starting_after" });
    const asked = { query: { stream: "yes" } };
    await expect(client.get(`/responses/${id}`, asked)).rejects.toMatchObject({ param: "stream" });
  });

  it("list what they were asked, newest first and page by page", async () => {
    const first = await client.responses.create({
      model,
      instructions: "Be brief.",
      input: [
        { role: "user", content: "What is the weather?" },
        { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "rain" },
        { role: "user", content: "hello" },
      ],
    });
    const second = await client.responses.create({
      model,
      input: "hello then",
      previous_response_id: first.id,
    });
    const items: ResponseItem[] = [];
    const pages = client.responses.inputItems.list(second.id, { limit: 2, order: "asc" });
    for await (const item of pages) items.push(item);
    expect(items).toMatchObject([
      { type: "message", role: "user", content: [{ text: "What is the weather?" }] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "rain" },
      { type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "hello then" }] },
    ]);
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    const newest = await client.responses.inputItems.list(second.id, { limit: 1 });
    expect([newest.data[0]?.id, newest.has_more]).toEqual([items.at(-1)?.id, true]);
    const stranger = openaiClient(harness.front, (await harness.createAccount()).key);
    await expect(stranger.responses.inputItems.list(second.id)).rejects.toMatchObject({
      status: 404,
    });
  });
});
