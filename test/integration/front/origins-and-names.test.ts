import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  call,
  MODEL,
  openaiClient,
  REPLY_MODELS,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";

const PAGE = "https://app.example.com";

describe("pages of other origins, and other names of models", () => {
  let harness: Harness;
  const from = (origin: string) => ({
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
  });

  beforeAll(async () => {
    harness = await startHarness(undefined, {
      corsOrigins: [PAGE],
      modelAliases: ["sora-2=service-motion-1", "gpt-4o-mini=service-words-1"],
    });
  });
  afterAll(async () => await harness?.close());

  it("lets a page of a named origin call it, without a key before the call itself", async () => {
    const url = `${harness.front.baseUrl}/chat/completions`;
    const { status, headers } = await call(url, { method: "OPTIONS", headers: from(PAGE) });
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(headers.get("access-control-allow-headers")).toContain("x-stainless-lang");
    const refused = await call(url, { body: {}, headers: { origin: PAGE } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe(PAGE);
    for (const name of ["x-request-id", "x-job-id", "retry-after", "x-ratelimit-reset-tokens"])
      expect(refused.headers.get("access-control-expose-headers")).toContain(name);
  });

  it("tells no other origin anything, and no page what is for operators", async () => {
    const { origin, baseUrl } = harness.front;
    const other = await call(`${baseUrl}/models`, { headers: { origin: "https://evil.example" } });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    for (const path of ["/metrics", "/admin/keys", "/readyz"]) {
      const { headers } = await call(`${origin}${path}`, { headers: { origin: PAGE } });
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  it("serves a model by the names that stand for it, and lists them", async () => {
    const { front, account } = harness;
    const client = openaiClient(front, account.key);
    const { data } = await client.models.list();
    const ids = data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(["sora-2", "gpt-4o-mini", MODEL]));
    expect(data.find(({ id }) => id === "gpt-4o-mini")).toMatchObject({ context_length: 4_096 });
    expect((await client.models.retrieve("sora-2")).id).toBe("sora-2");
    const video = await client.videos.create({ model: "sora-2", prompt: "a fox", seconds: "4" });
    expect(video.model).toBe(MODEL);
  });

  it("says which models serve an endpoint where the named one does not", async () => {
    const { front, account } = harness;
    const answer = await call(`${front.baseUrl}/chat/completions`, {
      key: account.key,
      body: { model: MODEL, messages: [{ role: "user", content: "x" }] },
    });
    expect([answer.status, answer.json.error.message]).toEqual([
      404,
      `no model "${MODEL}" serves /v1/chat/completions; these do: ${REPLY_MODELS.chat}, ${REPLY_MODELS.unattended}`,
    ]);
  });

  it("names what it takes and leaves aside, and refuses what it does not know", async () => {
    const { front, account } = harness;
    const body = { model: MODEL, prompt: "a fox", seconds: 4, guidance_scale: 3 };
    const ask = (more: object) =>
      call(`${front.baseUrl}/videos`, { key: account.key, body: { ...body, ...more } });
    const taken = await ask({ num_inference_steps: 20 });
    expect([taken.status, taken.headers.get("x-ignored-parameters")]).toEqual([
      200,
      "num_inference_steps, guidance_scale",
    ]);
    expect((await ask({ frames: 9 })).json.error.code).toBe("unknown_parameter");
  });

  it.each([
    ["nowhere=service-none-9", /service-none-9, which is no model/],
    [`${MODEL}=service-words-1`, /a name that a model has/],
  ])("does not start with the alias %s", async (alias, message) => {
    const config = { ...harness.config, modelAliases: [alias] };
    await expect(harness.startReplica({ config })).rejects.toThrow(message);
  });
});
