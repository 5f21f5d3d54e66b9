import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import { createFileLinks } from "#framemill/front/http/file-links.js";
import type { ImageOutput } from "#framemill/modalities/image/request.js";
import { encodeJob } from "#framemill/queue/message.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  call,
  janitorRuns,
  REPLY_MODELS,
  startHarness,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";
import {
  promptOf,
  readJob,
  say,
  startScriptedWorker,
  words,
  type Script,
} from "../../support/front-workers.js";

const LONG = 400 * 1024;

/** Pictures are two letters; words are as many as the prompt asks for. */
const script: Script = async function* ({ job, scratchPath }) {
  if (job.modality === "image") {
    for (const variant of ["image-1", "image-2"]) {
      const path = join(scratchPath, `${variant}.png`);
      await writeFile(path, `bytes of ${variant}`);
      yield { type: "file", variant, path, mediaType: "image/png" };
    }
    const output: ImageOutput = {
      images: ["image-1", "image-2"].map((variant) => ({
        variant,
        mediaType: "image/png",
        width: 64,
        height: 64,
        seed: 1,
      })),
      usage: { inputTokens: 3, outputTokens: 32 },
    };
    yield { type: "output", output };
    return;
  }
  const prompt = promptOf(job);
  if (prompt === "fail") throw new JobError("content_policy_violation", "no");
  const text = prompt.startsWith("long") ? "y".repeat(LONG) : `${prompt.length} characters`;
  yield { type: "output", output: words(text) };
};

describe("what is kept of replied jobs", () => {
  let harness: Harness;
  let worker: Worker;
  const ask = (path: string, options: CallOptions = {}) =>
    call(`${harness.front.baseUrl}${path}`, { key: harness.account.key, ...options });
  const chat = async (prompt: string) => await ask("/chat/completions", { body: say(prompt) });
  const respond = async (input: string, more: object = {}) =>
    (await ask("/responses", { body: { model: REPLY_MODELS.chat, input, ...more } })).json;

  beforeAll(async () => {
    harness = await startHarness();
    worker = await startScriptedWorker(harness, script);
  });
  afterAll(async () => {
    await worker?.stop();
    await harness?.close();
  });

  it("sends a long request as a file, and a short message with it", async () => {
    const answer = await chat("p".repeat(100_000));
    expect(answer.json.choices[0].message.content).toBe("100000 characters");
    const job = harness.published.find(({ id }) => id === answer.json.id);
    expect(job?.request).toBeNull();
    expect(job?.requestFile?.byteLength).toBeGreaterThan(100_000);
    expect(job === undefined ? 0 : encodeJob(job).byteLength).toBeLessThan(2_048);
    const short = await chat("p".repeat(100));
    const sent = harness.published.find(({ id }) => id === short.json.id);
    expect([sent?.requestFile, promptOf(sent ?? never())]).toEqual([undefined, "p".repeat(100)]);
  });

  it("returns a long output whole", async () => {
    const { json } = await chat("long");
    expect(json.choices[0].message.content).toBe("y".repeat(LONG));
    expect(await readJob(harness, json.id)).toMatchObject({ output: null, state: "completed" });
  });

  it("lets a stored response be read by its project until it is deleted", async () => {
    const stored = await respond("hello");
    const path = `/responses/${stored.id}`;
    expect(await ask(path)).toMatchObject({ status: 200, json: stored });
    const other = await harness.createAccount();
    const unstored = await respond("hello", { store: false });
    const { json: completion } = await chat("hello");
    const unknown: [string, CallOptions][] = [
      [path, { key: other.key }],
      [path, { key: other.key, method: "DELETE" }],
      [`${path}/cancel`, { key: other.key, method: "POST" }],
      [`/responses/${unstored.id}`, {}],
      [`/responses/${completion.id}`, {}],
    ];
    for (const [url, options] of unknown) {
      const { status, json } = await ask(url, options);
      expect([url, status, json.error.code]).toEqual([url, 404, "response_not_found"]);
    }
    const next = await respond("and then?", { previous_response_id: stored.id });
    expect(next.previous_response_id).toBe(stored.id);
    const deleted = await ask(path, { method: "DELETE" });
    expect(deleted.json).toEqual({ id: stored.id, object: "response.deleted", deleted: true });
    expect((await ask(path)).status).toBe(404);
    expect(await readJob(harness, stored.id)).toMatchObject({ request: {}, output: null });
  });

  it("gives links that download one file for an hour without a key, and no other", async () => {
    const body = {
      model: REPLY_MODELS.image,
      prompt: "a fox",
      n: 2,
      size: "64x64",
      response_format: "url",
    };
    const { json } = await ask("/images/generations", { body });
    const urls = json.data.map(({ url }: { url: string }) => new URL(url)) as URL[];
    expect(urls[0]?.origin).toBe(harness.front.origin);
    const texts = await Promise.all(urls.map(async ({ href }) => (await call(href)).text));
    expect(texts).toEqual(["bytes of image-1", "bytes of image-2"]);
    const first = urls[0] ?? never();
    const range = await call(first.href, { headers: { range: "bytes=0-4" } });
    expect([range.status, range.text, range.headers.get("content-type")]).toEqual([
      206,
      "bytes",
      "image/png",
    ]);

    const jobId = first.pathname.split("/")[2] ?? "";
    const another = await ask("/images/generations", { body });
    const otherId = new URL(another.json.data[0].url).pathname.split("/")[2] ?? "";
    const clock = () => Date.now() - 3_601_000;
    const expired = await createFileLinks({ database: harness.database, randomBytes, clock });
    const own = (change: (url: URL) => void) => {
      const url = new URL(first);
      change(url);
      return url.href;
    };
    const expires = String(Number(first.searchParams.get("expires")) + 1);
    const refused = [
      own((url) => (url.pathname = `/files/${jobId}/image-2`)),
      own((url) => (url.pathname = `/files/${otherId}/image-1`)),
      own((url) => (url.pathname = `/files/${jobId}/request`)),
      own((url) => (url.pathname = `/files/${jobId}/..%2f..%2fimage-1`)),
      own((url) => url.searchParams.set("expires", expires)),
      own((url) => url.searchParams.set("expires", "1e99")),
      own((url) => url.searchParams.delete("expires")),
      own((url) => url.searchParams.set("signature", "0".repeat(64))),
      own((url) => url.searchParams.delete("signature")),
      `${harness.front.origin}${expired.make(jobId, "image-1")}`,
    ];
    for (const url of refused) {
      const answer = await call(url);
      expect([url, answer.status, answer.json?.error.code]).toEqual([url, 404, "not_found"]);
    }
  });

  it("removes requests and answers after 5 minutes, and keeps files that have links", async () => {
    const plain = (await chat("secret")).json.id as string;
    const long = (await chat("secret".repeat(20_000))).json.id as string;
    const young = (await chat("young")).json.id as string;
    const stored = (await respond("kept")).id as string;
    expect((await chat("fail")).status).toBe(400);
    const picture = await makePicture();
    await age([plain, long, stored, picture.id], "6 minutes");
    await janitorRuns(harness);
    for (const id of [plain, long, picture.id])
      expect(await readJob(harness, id)).toMatchObject({ request: {}, output: null });
    expect(await harness.store.list(`${long}/`)).toEqual([]);
    expect((await call(picture.url)).text).toBe("bytes of image-1");
    expect(promptOf((await readJob(harness, young)) as never)).toBe("young");
    expect((await ask(`/responses/${stored}`)).status).toBe(200);
    const { rows } = await sql<{ open: number }>`SELECT count(*)::int AS open FROM jobs
      WHERE state = 'failed' AND request::text LIKE '%"fail"%' AND NOT kept
        AND NOT files_removed`.execute(harness.database);
    expect(rows[0]?.open).toBe(0);
  });

  it("drops rows a day later, stored ones after 30 days, and never charges", async () => {
    const plain = (await chat("secret")).json.id as string;
    const picture = await makePicture();
    const stored = (await respond("kept")).id as string;
    const longStored = (await respond("long")).id as string;
    const ids = [plain, picture.id, stored, longStored];
    const before = await countMoney(ids);
    await age(ids, "25 hours");
    await janitorRuns(harness);
    expect(await readJob(harness, plain)).toBeUndefined();
    expect(await readJob(harness, picture.id)).toBeUndefined();
    expect((await call(picture.url)).status).toBe(404);
    expect((await ask(`/responses/${stored}`)).json.output[0].content[0].text).toBe("4 characters");
    const gone = await ask(`/responses/${longStored}`);
    expect([gone.status, gone.json.error.code]).toEqual([410, "response_expired"]);
    const next = { model: REPLY_MODELS.chat, input: "x", previous_response_id: longStored };
    expect((await ask("/responses", { body: next })).status).toBeLessThan(500);

    await age([stored, longStored], "31 days");
    await janitorRuns(harness);
    expect((await ask(`/responses/${stored}`)).status).toBe(404);
    expect(await readJob(harness, longStored)).toBeUndefined();
    expect(await countMoney(ids)).toEqual(before);
    expect(before).toEqual({ charges: 4, attempts: 4 });
  });

  async function makePicture() {
    const more = { prompt: "a fox", n: 2, size: "64x64", response_format: "url" };
    const body = { model: REPLY_MODELS.image, ...more };
    const url = (await ask("/images/generations", { body })).json.data[0].url as string;
    return { id: new URL(url).pathname.split("/")[2] ?? "", url };
  }

  /** Moves the end of jobs into the past, and what follows from it. */
  async function age(ids: readonly string[], interval: string) {
    await sql`UPDATE jobs SET ended_at = now() - ${interval}::interval,
        expires_at = now() - ${interval}::interval
          + (CASE WHEN kept THEN interval '24 hours' ELSE interval '1 hour' END)
      WHERE id = ANY(${ids}::text[])`.execute(harness.database);
  }

  async function countMoney(ids: readonly string[]) {
    const count = async (table: "charges" | "attempts") => {
      const rows = sql`SELECT FROM ${sql.ref(table)} WHERE job_id = ANY(${ids}::text[])`;
      return (await rows.execute(harness.database)).rows.length;
    };
    return { charges: await count("charges"), attempts: await count("attempts") };
  }
});

function never(): never {
  throw new Error("missing");
}
