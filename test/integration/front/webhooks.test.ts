import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BODY,
  call,
  claim,
  completion,
  ENGINES,
  openaiClient,
  startHarness,
  upload,
  type Account,
  type Harness,
} from "../../support/front-harness.js";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe.each(ENGINES)("webhooks over %s", (engine) => {
  let harness: Harness;
  let account: Account;
  let secret = "";
  let receiver: Server;
  const received: Received[] = [];
  /** Statuses that the receiver answers with, in order; 200 when none is left. */
  const statuses: number[] = [];

  beforeAll(async () => {
    harness = await startHarness(engine);
    account = await harness.createAccount();
    secret = await harness.front.keys.webhookSecret(account.project.id, false);
    const take = async (request: IncomingMessage, response: ServerResponse) => {
      received.push({ headers: request.headers, body: await text(request) });
      response.writeHead(statuses.shift() ?? 200, { location: "/elsewhere" }).end();
    };
    receiver = createServer((...exchange) => void take(...exchange)).listen(0, "127.0.0.1");
    await once(receiver, "listening");
  });
  afterAll(async () => {
    receiver?.close();
    await harness?.close();
  });

  const address = (path = "/hook") =>
    `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
  const create = async (url: unknown, key = account.key, front = harness.front) =>
    await call(`${front.baseUrl}/videos`, { key, body: { ...BODY, webhook_url: url } });
  const unwrap = async ({ headers, body }: Received, by = secret) =>
    await openaiClient(harness.front, account.key).webhooks.unwrap(body, headers, by);

  it("tells the end of a job in a way that the stock client verifies", async () => {
    const { status, json } = await create(address());
    expect(status).toBe(200);
    const id = json.id as string;
    expect(json).not.toHaveProperty("webhook_url");
    const lease = await claim(harness.front, id);
    expect(received).toEqual([]);
    const files = await upload(harness.store, lease, Buffer.from("x"));
    await harness.front.handlers.complete(completion(lease, files));
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(1);
    const [first] = received.splice(0);
    if (first === undefined) throw new Error("nothing received");
    expect(await unwrap(first)).toMatchObject({
      object: "event",
      type: "video.completed",
      id: first.headers["webhook-id"],
      data: { id },
    });
    await expect(unwrap(first, "whsec_b3RoZXI=")).rejects.toThrow(/signature/i);
    await expect(unwrap({ ...first, body: `${first.body} ` })).rejects.toThrow(/signature/i);
  });

  it("tries again with pauses that grow, under the same id, and follows no redirect", async () => {
    statuses.push(500, 302);
    const id = (await create(address())).json.id as string;
    await call(`${harness.front.baseUrl}/videos/${id}/cancel`, { key: account.key, body: {} });
    const due = async () => {
      const { rows } = await sql<{ attempts: number; seconds: number | null }>`
        SELECT webhook_attempts AS attempts,
          extract(epoch FROM webhook_at - now())::int AS seconds FROM jobs WHERE id = ${id}`.execute(
        harness.database.kysely,
      );
      return rows[0];
    };
    const hurry = () =>
      sql`UPDATE jobs SET webhook_at = now() WHERE id = ${id}`.execute(harness.database.kysely);
    await expect.poll(async () => (await due())?.seconds, { timeout: 5_000 }).toBeLessThan(6);
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(1);
    // Or the note of the first call would come over the hurry.
    await expect.poll(async () => (await due())?.attempts).toBe(1);
    await hurry();
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(2);
    await expect.poll(async () => (await due())?.seconds).toBeGreaterThan(120);
    await hurry();
    await expect.poll(async () => (await due())?.seconds, { timeout: 5_000 }).toBeNull();
    expect(await due()).toEqual({ attempts: 3, seconds: null });
    const ids = received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    const [last] = received.splice(0).toReversed();
    expect(last && (await unwrap(last))).toMatchObject({ type: "video.failed", data: { id } });
  });

  it("refuses what it would not call, by name, and stores nothing", async () => {
    const strict = await harness.startReplica({
      config: { ...harness.config, webhookAllowPrivate: false },
    });
    const unsigned = await harness.createAccount();
    const refused: [unknown, string, typeof strict][] = [
      [7, account.key, strict],
      ["not an address", account.key, strict],
      ["ftp://example.com", account.key, strict],
      [address(), account.key, strict],
      ["https://user:word@example.com/", account.key, strict],
      ["https://example.com/", unsigned.key, harness.front],
    ];
    for (const [url, key, front] of refused) {
      const { status, json } = await create(url, key, front);
      expect([status, json.error.param]).toEqual([400, "webhook_url"]);
    }
    const list = await call(`${harness.front.baseUrl}/videos`, { key: unsigned.key });
    expect(list.json.data).toEqual([]);
  });

  it("calls no private address, whatever the name resolves to", async () => {
    const own = await startHarness(engine, { webhookAllowPrivate: false });
    try {
      const { project, key } = own.account;
      await own.front.keys.webhookSecret(project.id, false);
      const port = (receiver.address() as AddressInfo).port;
      for (const host of ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"]) {
        const url = `https://${host}:${port}/`;
        const { json } = await create(url, key, own.front);
        await call(`${own.front.baseUrl}/videos/${json.id}/cancel`, { key, body: {} });
      }
      const failures = () => own.logged().match(/webhook failed/g)?.length ?? 0;
      await expect.poll(failures, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
      expect(received).toEqual([]);
      expect(own.logged()).toMatch(/private|not allowed/i);
      expect(own.logged()).not.toContain("whsec_");
    } finally {
      await own.close();
    }
  });
});
