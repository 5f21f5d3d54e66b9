import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLongBodies } from "#framemill/front/http/long-bodies.js";
import { findModality } from "#framemill/modalities/registry.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  BODY,
  call,
  type CallOptions,
  type Harness,
  MODEL,
  REPLY_MODELS,
  PNG_URL,
  startHarness,
} from "../../support/front-harness.js";
import { promptOf, startScriptedWorker, words } from "../../support/front-workers.js";

const LONG = "x".repeat(100_000);
const PICTURE = `${PNG_URL.slice(0, -12)}${"A".repeat(24_000)}${PNG_URL.slice(-12)}`;

describe("a long JSON body", () => {
  let harness: Harness;
  let worker: Worker;
  beforeAll(async () => {
    harness = await startHarness();
    worker = await startScriptedWorker(harness, async function* ({ job }) {
      yield { type: "output", output: words(`${promptOf(job).length} characters`) };
    });
  });
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
  });
  const post = (path: string, body: object, options: CallOptions = {}) =>
    call(`${harness.front.baseUrl}${path}`, { key: harness.account.key, body, ...options });

  it("is refused with the same error as a short one, naming the field", async () => {
    const clip = { ...BODY, metadata: { note: "x" } };
    for (const wrong of [
      { seconds: 11 },
      { model: "nobody" },
      { model: undefined },
      { unknown: 1 },
      { prompt: "\0" },
    ]) {
      const short = await post("/videos", { ...clip, ...wrong });
      const long = await post("/videos", { ...clip, ...wrong, webhook_url: LONG });
      expect(long.json.error).toEqual(short.json.error);
      expect(long.status).toBe(short.status);
    }
    const broken = await call(`${harness.front.baseUrl}/videos`, {
      key: harness.account.key,
      body: `{"prompt":"${LONG}`,
      headers: { "content-type": "application/json" },
    });
    expect([broken.status, broken.json.error.code]).toEqual([400, "invalid_json"]);
  });

  it("may hold pictures and continue earlier responses", async () => {
    const clip = await post("/videos", { ...BODY, input_reference: { image_url: PICTURE } });
    expect([clip.status, clip.json.model]).toEqual([200, MODEL]);
    const ask = { model: REPLY_MODELS.chat, input: LONG };
    const first = await post("/responses", ask);
    expect(first.json.output[0].content[0].text).toBe("100000 characters");
    const next = await post("/responses", { ...ask, previous_response_id: first.json.id });
    expect(next.json.previous_response_id).toBe(first.json.id);
  });

  it("repeats a request of the same key in any order of its fields, and no other", async () => {
    const headers = { "idempotency-key": "long" };
    const picture = { input_reference: { image_url: PICTURE } };
    const first = await post("/videos", { ...BODY, ...picture }, { headers });
    const again = await post("/videos", { ...picture, ...BODY }, { headers });
    expect([first.status, again.json.id]).toEqual([200, first.json.id]);
    const other = await post("/videos", { ...BODY, ...picture, seconds: 5 }, { headers });
    expect(other.json.error.code).toBe("idempotency_conflict");
  });

  it("waits for others of its project up to a limit, and for no other project's", async () => {
    const modality = findModality("chat");
    if (modality === undefined) throw new Error("no chat");
    const bodies = createLongBodies();
    const text = JSON.stringify({
      model: REPLY_MODELS.chat,
      messages: [{ role: "user", content: LONG }],
    });
    const read = (projectId: string) =>
      bodies.read(
        {
          pieces: [Buffer.from(text)],
          modality,
          path: "/v1/chat/completions",
          models: harness.models,
          maxValues: undefined,
          isHashed: false,
        },
        projectId,
      );
    const ends: string[] = [];
    const note = (name: string) => () => void ends.push(name);
    const many = Array.from({ length: 70 }, () => read("one").then(note("one"), note("refused")));
    await Promise.all([...many, read("other").then(note("other"))]);
    await bodies.close();
    expect(ends.filter((name) => name === "refused").length).toBe(5);
    expect(ends.indexOf("other")).toBeLessThan(ends.lastIndexOf("one"));
  });
});
