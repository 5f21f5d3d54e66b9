import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import sharp from "sharp";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BODY,
  call,
  createJob,
  makeClip,
  openaiClient,
  SOON,
  startHarness,
  type Answer,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";

describe("requests", () => {
  let harness: Harness;
  let videos: string;
  const post = (options: CallOptions) =>
    call(videos, { key: harness.account.key, method: "POST", ...options });

  beforeAll(async () => {
    harness = await startHarness();
    videos = `${harness.front.baseUrl}/videos`;
  });
  afterAll(async () => await harness?.close());

  const refused: [name: string, body: object | string, param: string | null, code: string][] = [
    ["3 seconds", { ...BODY, seconds: 3 }, "seconds", "invalid_value"],
    ["11 seconds", { ...BODY, seconds: 11 }, "seconds", "invalid_value"],
    ["4.5 seconds", { ...BODY, seconds: 4.5 }, "seconds", "invalid_value"],
    ["seconds in words", { ...BODY, seconds: "abc" }, "seconds", "invalid_value"],
    ["no model", { prompt: "x", seconds: 4 }, "model", "missing_required_parameter"],
    ["no prompt", { model: BODY.model, seconds: 4 }, "prompt", "missing_required_parameter"],
    ["no seconds", { model: BODY.model, prompt: "x" }, "seconds", "missing_required_parameter"],
    ["1 MB of prompt", { ...BODY, prompt: "x".repeat(2 ** 20) }, "prompt", "invalid_value"],
    [
      "both image names",
      { ...BODY, image: "data:,", input_reference: "data:," },
      "input_reference",
      "invalid_value",
    ],
    [
      "a remote image",
      { ...BODY, image: "https://example.com/x.png" },
      "image",
      "invalid_image_url",
    ],
    ["a NUL in the prompt", { ...BODY, prompt: "a\0b" }, "prompt", "invalid_value"],
    [
      "half a surrogate pair",
      '{"model":"service-motion-1","prompt":"\\ud800","seconds":4}',
      "prompt",
      "invalid_value",
    ],
    [
      "a prototype",
      '{"__proto__":{"model":"x"},"model":"service-motion-1"}',
      "(name)",
      "invalid_value",
    ],
    ["an array", "[1]", null, "invalid_value"],
    ["a word", '"hello"', null, "invalid_value"],
    ["no JSON", "{", null, "invalid_json"],
    ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), null, "invalid_json"],
    ["100 000 brackets", "[".repeat(100_000), null, "invalid_json"],
  ];
  it.each(refused)("refuses %s with 400", async (_name, body, param, code) => {
    const answer = await post({ body });
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatchObject({ param, code, type: "invalid_request_error" });
    expectHeaders(answer);
  });

  it("answers every other problem with its status and code", async () => {
    const { key } = harness.account;
    const { origin, baseUrl } = harness.front;
    const cases: [Promise<Answer>, number, string][] = [
      [post({ body: { ...BODY, model: "unknown" } }), 404, "model_not_found"],
      [post({ body: "x".repeat(16 * 2 ** 20) }), 413, "payload_too_large"],
      [call(`${videos}/video_unknown`, { key }), 404, "video_not_found"],
      [call(`${videos}/%zz`, { key }), 400, "invalid_value"],
      [call(`${videos}/%00`, { key }), 400, "invalid_value"],
      [call(`${videos}?after=%00`, { key }), 400, "invalid_value"],
      [call(`${videos}/${"x".repeat(500)}`, { key }), 404, "not_found"],
      [call(`${baseUrl}/nothing`, { key }), 404, "not_found"],
      [call(`${origin}/`, {}), 404, "not_found"],
      [call(videos, { key, method: "PATCH" }), 405, "method_not_allowed"],
      [call(`${videos}/x/content`, { key, method: "DELETE" }), 405, "method_not_allowed"],
      // Whatever comes with it.
      [call(videos, { key, method: "QUERY" }), 405, "method_not_allowed"],
      [
        post({ method: "PUT", body: "x", headers: { "content-type": "text/plain" } }),
        405,
        "method_not_allowed",
      ],
      [call(`${videos}?limit=0`, { key }), 400, "invalid_value"],
      [call(`${videos}?limit=101`, { key }), 400, "invalid_value"],
      [call(`${videos}?order=up`, { key }), 400, "invalid_value"],
      [call(`${videos}?after=video_x`, { key }), 400, "invalid_value"],
      [call(`${videos}/video_x?wait=61`, { key }), 400, "invalid_value"],
      [call(`${baseUrl}/models/unknown`, { key }), 404, "model_not_found"],
    ];
    for (const [pending, status, code] of cases) {
      const answer = await pending;
      expect([answer.status, answer.json?.error?.code]).toEqual([status, code]);
      expect(Object.keys(answer.json.error).toSorted()).toEqual([
        "code",
        "message",
        "param",
        "type",
      ]);
      expectHeaders(answer);
    }
    expect((await call(videos, { key, method: "PATCH" })).headers.get("allow")).toBe(
      "GET, HEAD, POST",
    );
  });

  it("says what a body must be that it cannot read", async () => {
    const body = JSON.stringify(BODY);
    const form = await post({
      body,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([form.status, form.json.error.message]).toEqual([
      415,
      'Content-Type must be application/json or multipart/form-data, got "application/x-www-form-urlencoded"',
    ]);
    const zipped = await post({ body: gzipSync(body), headers: { "content-encoding": "gzip" } });
    expect([zipped.status, zipped.json.error.code]).toEqual([415, "unsupported_media_type"]);
    const fields = new FormData();
    for (let index = 0; index < 101; index += 1) fields.append(`metadata[${index}]`, "x");
    const many = await post({ body: fields });
    expect([many.status, many.json.error.message]).toEqual([
      413,
      "a form must have at most 100 fields",
    ]);
  });

  it("finds a path that ends in a slash, doubles one, or comes after a doubled /v1", async () => {
    const { key } = harness.account;
    const { baseUrl, origin } = harness.front;
    for (const path of ["/models/", "//models", "/v1/models"])
      expect((await call(`${baseUrl}${path}`, { key })).json.object).toBe("list");
    for (const path of ["/rerank/", "/v1/rerank", "/v2/rerank"])
      expect((await call(`${baseUrl}${path}`, { key, body: {} })).json.error.message).toBe(
        "model is required",
      );
    expect((await call(`${baseUrl}/videos/`, { key, method: "PATCH" })).status).toBe(405);
    expect((await call(`${origin}/health`)).json.status).toBe("ready");
  });

  it("answers every problem with a key with the same message, and says where none was sent", async () => {
    const other = await harness.createAccount();
    expect(await harness.front.keys.revokeKey(other.keyId)).toBe(true);
    const without = await call(videos, { body: BODY, headers: { "x-api-key": other.key } });
    expect(without.json.error.message).toMatch(/^No API key was sent: .*Authorization: Bearer/);
    const headers = [
      { authorization: "Bearer" },
      { authorization: "Bearer fm_short" },
      { authorization: `Bearer fm_${"0".repeat(43)}` },
      { authorization: `Basic ${harness.account.key}` },
      { authorization: `Bearer ${other.key}` },
    ];
    const bodies = new Set<string>();
    for (const header of headers) {
      const answer = await call(videos, { body: BODY, headers: header });
      expect(answer.status).toBe(401);
      expectHeaders(answer);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
      bodies.add(answer.text);
    }
    expect([...bodies]).toHaveLength(1);
  });

  it("hides the jobs of other projects", async () => {
    const other = await harness.createAccount();
    const id = await makeClip(harness, harness.account.key);
    for (const path of ["", "/content", "/events"])
      expect((await call(`${videos}/${id}${path}`, { key: other.key })).status).toBe(404);
    for (const [path, method] of [
      ["", "DELETE"],
      ["/cancel", "POST"],
    ] as const)
      expect((await call(`${videos}/${id}${path}`, { key: other.key, method })).status).toBe(404);
    expect((await call(videos, { key: other.key })).json.data).toEqual([]);
    expect((await call(`${videos}/${id}`, { key: harness.account.key })).status).toBe(200);
  });

  it("takes a form without files urlencoded, as HTTP libraries send it", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const postForm = (fields: [string, string][]) =>
      post({ body: String(new URLSearchParams(fields)), headers });
    const words = { model: BODY.model, prompt: BODY.prompt, seconds: "4", "metadata[a]": "b" };
    const created = await postForm(Object.entries(words));
    expect([created.status, created.json]).toMatchObject([
      200,
      { prompt: BODY.prompt, metadata: { a: "b" } },
    ]);
    expect((await postForm([[`a${"[b]".repeat(40)}`, "x"]])).status).toBe(400);
    const many = Array.from({ length: 101 }, (): [string, string] => ["a", "b"]);
    expect((await postForm(many)).status).toBe(413);
  });

  it("refuses broken multipart with 4xx, and takes the whole one", async () => {
    const type = { "content-type": "multipart/form-data; boundary=b" };
    const field = (name: string, value: string) =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const whole = `${field("model", BODY.model)}${field("prompt", "x")}${field("seconds", "4")}`;
    const broken = [
      "",
      "nothing",
      whole,
      `${whole}--b`,
      "--b\r\n\r\n\r\n--b--\r\n",
      `${field("a[b", "x")}--b--\r\n`,
      `${field("__proto__", "x")}--b--\r\n`,
      `${field(`a${"[b]".repeat(40)}`, "x")}--b--\r\n`,
      `--b\r\ncontent-disposition: form-data; name="image"; filename="x.png"\r\n\r\nPNG`,
    ];
    for (const body of broken) {
      const answer = await post({ body, headers: type });
      expect([400, 413, 415]).toContain(answer.status);
      expect(answer.json.error.code).toBeTypeOf("string");
    }
    const nameless = `--b\r\nx: y\r\n\r\n${"x".repeat(200_000)}\r\n${whole}--b--\r\n`;
    expect((await post({ body: nameless, headers: type })).status).toBe(200);
    const noBoundary = await post({
      body: whole,
      headers: { "content-type": "multipart/form-data" },
    });
    expect([400, 415]).toContain(noBoundary.status);
    const long = await post({
      body: `${field("prompt", "x".repeat(2 ** 20))}${whole}--b--\r\n`,
      headers: type,
    });
    expect(long.status).toBe(400);
    const nested = `${whole}${field("metadata[a]", "1")}${field("metadata[b]", "2")}--b--\r\n`;
    const answer = await post({ body: nested, headers: type });
    expect(answer.json).toMatchObject({
      status: "queued",
      seconds: "4",
      metadata: { a: "1", b: "2" },
    });
  });

  it("keeps an uploaded picture for the worker, and nothing of a refused request", async () => {
    const picture = await sharp({
      create: { width: 64, height: 64, channels: 3, background: "red" },
    })
      .png()
      .toBuffer();
    const form = new FormData();
    for (const [name, value] of Object.entries(BODY)) form.append(name, String(value));
    form.append(
      "input_reference",
      new Blob([new Uint8Array(picture)], { type: "image/png" }),
      "a.png",
    );
    const accepted = await post({ body: form });
    expect(accepted.status).toBe(200);
    expect(await harness.store.list(`${accepted.json.id}/`)).toHaveLength(1);

    const poor = await harness.createAccount({ monthlyLimitMicroUsd: 1 });
    const before = await countFiles(harness);
    expect((await call(videos, { key: poor.key, body: form })).status).toBe(429);
    expect(await countFiles(harness)).toBe(before);
  });

  it("takes a clip's form as vLLM-Omni's benchmark sends it, which polls until the end", async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({
      model: BODY.model,
      prompt: "a fox in the snow",
      height: 720,
      width: 1_280,
      num_frames: 97,
      fps: 24,
      num_inference_steps: 20,
      seed: 42,
    }))
      form.append(name, String(value));
    const created = await post({ body: form });
    expect([created.status, created.json]).toMatchObject([
      200,
      { status: "queued", size: "1280x720", seconds: 4 },
    ]);
    expect(created.headers.get("x-ignored-parameters")).toBe("num_inference_steps");
    const read = await call(`${videos}/${created.json.id}`, { key: harness.account.key });
    expect(read.json.id).toBe(created.json.id);
  });

  it("answers what is not HTTP with the same error body", async () => {
    const { port } = harness.front;
    const text = await exchange(port, "GARBAGE\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toMatch(/x-request-id: req_/);
    expect(JSON.parse(text.slice(text.indexOf("{")))).toMatchObject({
      error: { code: "invalid_value", type: "invalid_request_error", param: null },
    });
    const long = await exchange(
      port,
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
    );
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
    const expecting = "GET / HTTP/1.1\r\nhost: x\r\nexpect: x\r\nconnection: close\r\n\r\n";
    const unexpected = await exchange(port, expecting);
    expect(unexpected).toMatch(/^HTTP\/1\.1 417 /);
    expect(unexpected).toMatch(/x-request-id: req_[^]*x-ratelimit-remaining-requests: /);
  });

  it("speaks with the stock client: errors carry code, param and request id", async () => {
    const client = openaiClient(harness.front, harness.account.key);
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toContain(BODY.model);
    expect((await client.models.retrieve(BODY.model)).object).toBe("model");
    const failure = await client.videos.create({ ...BODY, seconds: "11" as "4" }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ status: 400, code: "invalid_value", param: "seconds" });
    expect((failure as { requestID?: string }).requestID).toMatch(/^req_/);
    const anonymous = openaiClient(harness.front, "fm_wrong");
    await expect(anonymous.models.list()).rejects.toMatchObject({
      status: 401,
      code: "invalid_api_key",
    });
  });

  it("describes itself and its state", async () => {
    const { origin } = harness.front;
    const openapi = (await call(`${origin}/openapi.json`)).json;
    expect(openapi.openapi).toBe("3.1.0");
    expect(Object.keys(openapi.paths)).toContain("/videos/{id}/content");
    expect((await call(`${origin}/healthz`)).status).toBe(200);
    // A replica that was closed above may have locked outbox rows; they come free after 5 s.
    await expect
      .poll(async () => (await call(`${origin}/readyz`)).json, SOON)
      .toEqual({
        status: "ready",
        parts: { queue: "ok", artifact_store: "ok", outbox: "ok" },
      });
    await createJob(harness.front, harness.account.key);
    const metrics = (await call(`${origin}/metrics`)).text;
    expect(metrics).toContain('framemill_part_up{part="artifact_store"} 1');
    expect(metrics).toMatch(
      /framemill_jobs\{model="service-motion-1",tier="\w+",state="queued"\} [1-9]/,
    );
  });

  it("logs neither keys nor prompts", async () => {
    const prompt = "zebra quartz";
    await post({ body: { ...BODY, prompt } });
    await post({ body: { ...BODY, prompt, seconds: 3 } });
    expect(harness.logged()).toContain("answered");
    expect(harness.logged()).not.toContain(prompt);
    expect(harness.logged()).not.toContain("fm_");
  });
});

async function countFiles({ store, database }: Harness): Promise<number> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM jobs`.execute(database);
  const files = await Promise.all(rows.map(({ id }) => store.list(`${id}/`)));
  return files.flat().length;
}

function expectHeaders({ headers }: Answer): void {
  expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  for (const name of ["requests", "tokens"]) {
    for (const part of ["limit", "remaining"])
      expect(headers.get(`x-ratelimit-${part}-${name}`)).toMatch(/^\d+$/);
    expect(headers.get(`x-ratelimit-reset-${name}`)).toMatch(/^(\d+m)?\d+(ms|s)$/);
  }
  expect(headers.get("openai-processing-ms")).toMatch(/^\d+$/);
}

/** Sends raw bytes and returns all that comes back. */
async function exchange(port: number, bytes: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    let received = "";
    socket.setEncoding("utf8").on("data", (text: string) => (received += text));
    socket.on("end", () => resolve(received)).on("error", reject);
  });
}
