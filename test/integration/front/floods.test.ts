import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, createJob, SOON, startHarness, type Harness } from "../../support/front-harness.js";

describe("a flood by one caller", () => {
  let harness: Harness;
  let models: string;
  beforeAll(async () => {
    harness = await startHarness(undefined, { trustProxy: ["127.0.0.1"], watchesPerProject: 3 });
    models = `${harness.front.baseUrl}/models`;
  });
  afterAll(async () => await harness?.close());

  it("of wrong keys is answered with 429 for its address, and valid keys from there with 200", async () => {
    const from = (address: string, key?: string) =>
      call(models, { headers: { "x-forwarded-for": address }, ...(key !== undefined && { key }) });
    const unknown = (digit: number) => `fm_${String(digit).padStart(43, "0")}`;
    const { key } = harness.account;
    expect((await from("198.51.100.7", key)).status).toBe(200);
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, index) =>
        from("198.51.100.7", index % 2 === 0 ? undefined : unknown(index)),
      ),
    );
    const first = answers.filter(({ status }) => status === 401);
    expect(first.length).toBeGreaterThanOrEqual(60);
    const refused = await from("198.51.100.7", unknown(100));
    expect(refused.status).toBe(429);
    expect(refused.json.error.message).toContain("At most 60 requests a minute");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await from("198.51.100.7")).status).toBe(429);
    expect((await from("198.51.100.7", key)).status).toBe(200);
    const fresh = await harness.createAccount();
    expect((await from("198.51.100.7", fresh.key)).status).toBe(200);
    expect((await from("198.51.100.8")).status).toBe(401);
    // Neighbours of one IPv6 network are one caller.
    for (let index = 0; index < 60; index += 1) await from(`2001:db8::${index.toString(16)}`);
    expect((await from("2001:db8:0:0:ffff::1")).status).toBe(429);
    expect((await from("2001:db8:0:1::1")).status).toBe(401);
  });

  it("of event streams and waits is refused with their limit, and no other project's are", async () => {
    const { front, account } = harness;
    const id = await createJob(front, account.key);
    const leaving = new AbortController();
    const streams = await Promise.all(
      [1, 2, 3].map(() =>
        fetch(`${front.baseUrl}/videos/${id}/events`, {
          headers: { authorization: `Bearer ${account.key}` },
          signal: leaving.signal,
        }),
      ),
    );
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    const more = () => call(`${front.baseUrl}/videos/${id}?wait=1`, { key: account.key });
    const refused = await more();
    expect([refused.status, refused.json.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused.json.error.message).toContain("At most 3 event streams and waits");
    const other = await harness.createAccount();
    const theirs = await createJob(front, other.key);
    expect((await call(`${front.baseUrl}/videos/${theirs}?wait=1`, other)).status).toBe(200);
    expect((await call(`${front.baseUrl}/videos/${id}`, { key: account.key })).status).toBe(200);
    leaving.abort();
    await expect.poll(async () => (await more()).status, SOON).toBe(200);
  });

  it("of watchers is served by one query for all", async () => {
    const { front, account } = harness;
    const ids = await Promise.all([1, 2, 3].map(() => createJob(front, account.key)));
    const streams = ids.map(async (id) => {
      const stream = await fetch(`${front.baseUrl}/videos/${id}/events`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      return await stream.text();
    });
    for (const id of ids)
      await call(`${front.baseUrl}/videos/${id}/cancel`, { key: account.key, method: "POST" });
    for (const [index, text] of (await Promise.all(streams)).entries()) {
      const events = text.match(/^data: .*$/gm) ?? [];
      const last = JSON.parse(events.at(-1)?.slice(6) ?? "null") as { id: string; status: string };
      expect([last.id, last.status]).toEqual([ids[index], "failed"]);
    }
  });
});
