import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, environmentOf, type Running, startProgram } from "../../support/service-harness.js";

const MODEL = "service-embed-1";
const body = { model: MODEL, input: "a red boat" };

describe("up --no-limits", { timeout: 180_000 }, () => {
  let folder = "";
  let up: Running;
  let baseURL = "";
  const start = (environment: Record<string, string>) =>
    startProgram(
      [process.execPath, cli, "up", "--no-limits"],
      environmentOf(folder, { MODELS: MODEL, ...environment }),
    );
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-no-limits-"));
    up = start({ REQUESTS_PER_MINUTE: "3", TOKENS_PER_MINUTE: "5" });
    [, baseURL = ""] = await up.says(/base address +(\S+)\n/);
  });
  afterAll(async () => {
    await up?.stop("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  });

  test("serves the stock client with any key, beyond the limits of a minute", async () => {
    const client = new OpenAI({ baseURL, apiKey: "EMPTY", maxRetries: 0 });
    for (let turn = 0; turn < 8; turn += 1) {
      const { data } = await client.embeddings.create(body);
      expect(data).toHaveLength(1);
    }
    expect((await fetch(`${baseURL}/models`)).status).toBe(200);
    expect(up.output()).toContain("NO LIMITS");
  });

  test.each([
    ["of another origin", { origin: "https://evil.example" }, "Origin must be left out"],
    ["in a frame without one", { origin: "null" }, "Origin must be left out"],
    ["that only shows it", { "sec-fetch-site": "cross-site" }, "Sec-Fetch-Site must be left out"],
    ["whose name was led here", { host: "evil.example:8080" }, "Host must be this machine"],
  ])("serves no page %s", async (_, headers, sentence) => {
    const answer = await post(`${baseURL}/embeddings`, headers);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(sentence)]);
  });

  test("serves a program that names this machine, whichever way", async () => {
    for (const host of ["localhost:8080", "127.0.0.1", "[::1]:8080"])
      expect((await post(`${baseURL}/embeddings`, { host })).status).toBe(200);
  });

  test("does not start where others could reach it", async () => {
    const exposed = start({ HOST: "0.0.0.0", WORKER_TOKEN: "w".repeat(32) });
    expect(await once(exposed.child, "close")).toEqual([1, null]);
    expect(exposed.output()).toMatch(/HOST must be 127\.0\.0\.1, ::1 or localhost, got 0\.0\.0\.0/);
  });
});

/** With headers that `fetch` keeps to itself. */
async function post(url: string, headers: Record<string, string>) {
  const type = { "content-type": "application/json" };
  const sent = request(url, { method: "POST", headers: { ...type, ...headers } });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, text: await text(response) };
}
