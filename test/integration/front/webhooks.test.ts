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
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BODY,
  call,
  claim,
  completion,
  ENGINE,
  openaiClient,
  SOON,
  startHarness,
  upload,
  type Account,
  type Harness,
} from "../../support/front-harness.js";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe("webhooks", () => {
  let harness: Harness;
  let account: Account;
  let secret = "";
  let receiver: Server;
  const received: Received[] = [];
  /** Statuses that the receiver answers with, in order; 200 when none is left. */
  const statuses: number[] = [];

  beforeAll(async () => {
    harness = await startHarness();
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

  it("reports the end of a job, signed so that the stock client verifies it", async () => {
    const { status, json } = await create(address());
    expect(status).toBe(200);
    const id = json.id as string;
    expect(json).not.toHaveProperty("webhook_url");
    const lease = await claim(harness.front, id);
    expect(received).toEqual([]);
    const files = await upload(harness.store, lease, Buffer.from("x"));
    await harness.front.handlers.complete(completion(lease, files));
    await expect.poll(() => received.length, SOON).toBe(1);
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

  it("retries with growing pauses, under the same id, and follows no redirect", async () => {
    statuses.push(500, 302);
    const id = (await create(address())).json.id as string;
    await call(`${harness.front.baseUrl}/videos/${id}/cancel`, { key: account.key, body: {} });
    await expect.poll(async () => await isDueAfterHurry(id), SOON).toBe(false);
    const attempts = harness
      .logged()
      .split("\n")
      .filter((line) => line.includes(id) && line.includes('"msg":"webhook'))
      .map((line) => JSON.parse(line) as { attempt: number; pauseSeconds?: number });
    expect(attempts.map(({ attempt, pauseSeconds }) => [attempt, pauseSeconds])).toEqual([
      [1, 5],
      [2, 300],
      [3, undefined],
    ]);
    expect(received).toHaveLength(3);
    const ids = received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    const [last] = received.splice(0).toReversed();
    expect(last && (await unwrap(last))).toMatchObject({ type: "video.failed", data: { id } });
  });

  /** Ends the pause before the next call, where none is under way: that one has two minutes. */
  async function isDueAfterHurry(id: string): Promise<boolean | undefined> {
    const db = harness.database;
    await sql`UPDATE jobs SET webhook_at = now() WHERE id = ${id}
      AND webhook_at - now() NOT BETWEEN interval '100 seconds' AND interval '120 seconds'`.execute(
      db,
    );
    const { rows } = await sql<{ due: boolean }>`SELECT webhook_at IS NOT NULL AS due FROM jobs
      WHERE id = ${id}`.execute(db);
    return rows[0]?.due;
  }

  it("refuses a URL that it would not call, naming the field, and stores nothing", async () => {
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
    const own = await startHarness(ENGINE, { webhookAllowPrivate: false });
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
      await expect.poll(failures, SOON).toBeGreaterThanOrEqual(4);
      expect(received).toEqual([]);
      expect(own.logged()).toMatch(/private|not allowed/i);
      expect(own.logged()).not.toContain("whsec_");
    } finally {
      await own.close();
    }
  });
});
