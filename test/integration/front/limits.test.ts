import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { Broker } from "#framemill/queue/broker.js";
import {
  BODY,
  call,
  makeClip,
  startHarness,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";

describe("limits", () => {
  let harness: Harness;
  let videos: string;
  const post = (options: CallOptions) =>
    call(videos, { key: harness.account.key, method: "POST", ...options });

  beforeAll(async () => {
    harness = await startHarness();
    videos = `${harness.front.baseUrl}/videos`;
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => await harness?.close());

  it("counts exactly 60 requests a minute across two replicas", async () => {
    // The minute does not end before the test.
    vi.useFakeTimers({ toFake: ["Date"] });
    const replica = await harness.startReplica();
    const { key } = await harness.createAccount({ requestsPerMinute: 60 });
    const urls = [harness.front.baseUrl, replica.baseUrl];
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, index) => call(`${urls[index % 2]}/models`, { key })),
    );
    const served = answers.filter(({ status }) => status === 200);
    const limited = answers.filter(({ status }) => status === 429);
    expect([served.length, limited.length]).toEqual([60, 90]);
    const remaining = served.map(({ headers }) =>
      Number(headers.get("x-ratelimit-remaining-requests")),
    );
    expect(remaining.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, index) => index),
    );
    const wait = Number(limited[0]?.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(limited[0]?.json.error.code).toBe("rate_limit_exceeded");
  });

  it("reserves spending at creation and frees it when the job fails", async () => {
    // Two clips of 4 s at $0.18 fit, a third does not.
    const { key } = await harness.createAccount({ monthlyLimitMicroUsd: 2 * 720_000 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => call(videos, { key, body: BODY })));
    const byStatus = (status: number) => answers.filter((answer) => answer.status === status);
    expect([byStatus(200).length, byStatus(429).length]).toEqual([2, 2]);
    const over = answers.find(({ status }) => status === 429);
    expect(over?.json.error.code).toBe("insufficient_quota");
    expect(over?.headers.get("x-should-retry")).toBe("false");
    expect(Number(over?.headers.get("retry-after"))).toBeGreaterThan(0);

    const first = answers.find(({ status }) => status === 200)?.json.id as string;
    await call(`${videos}/${first}/cancel`, { key, method: "POST" });
    const charged = await makeClip(harness, key);
    expect((await call(`${videos}/${charged}`, { key })).json.cost.final).toBe(0.72);
    expect((await call(videos, { key, body: BODY })).status).toBe(429);
  });

  it("answers a repeated creation with the first job", async () => {
    const headers = { "idempotency-key": "order-1" };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post({ body: BODY, headers })),
    );
    expect(new Set(answers.map(({ json }) => json.id as string)).size).toBe(1);
    const other = await post({ body: { ...BODY, seconds: 5 }, headers });
    expect([other.status, other.json.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(other.headers.get("x-should-retry")).toBe("false");

    const body = { ...BODY, prompt: "only once" };
    const first = await post({ body });
    const retried = await post({ body, headers: { "x-stainless-retry-count": "1" } });
    expect(retried.json.id).toBe(first.json.id);
    expect((await post({ body })).json.id).not.toBe(first.json.id);
    const stranger = await harness.createAccount();
    const foreign = await post({
      body,
      key: stranger.key,
      headers: { "x-stainless-retry-count": "1" },
    });
    expect(foreign.json.id).not.toBe(first.json.id);
  });

  it("withdraws a job that the broker does not confirm: 503, nothing stored", async () => {
    const { key } = harness.account;
    const outage = (connected: boolean): Broker => ({
      ...harness.broker,
      connected,
      publish: async (_key, _job, options) => {
        await new Promise((resolve) => options?.signal?.addEventListener("abort", resolve));
        throw new JobError("service_unavailable", "not confirmed");
      },
      depth: async () => ({ ready: 0, consumers: 0 }),
    });
    // Earlier jobs fill the queue: this one would wait in the ledger.
    await sql`UPDATE jobs SET state = 'failed', ended_at = now() WHERE state = 'queued'`.execute(
      harness.database,
    );
    const { rows: before } = await sql`SELECT id FROM jobs`.execute(harness.database);
    const states: unknown[] = [];
    for (const connected of [false, true]) {
      const front = await harness.startReplica({ broker: outage(connected) });
      const answer = await call(`${front.baseUrl}/videos`, { key, body: BODY });
      expect([answer.status, answer.json.error.code]).toEqual([503, "service_unavailable"]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      const { status, json } = await call(`${front.origin}/readyz`);
      states.push([status, json.parts.queue]);
      await front.close();
    }
    // Reading goes on: no balancer need turn away from this front.
    expect(states).toEqual([
      [200, "not connected"],
      [200, "ok"],
    ]);
    const { rows: after } = await sql`SELECT id FROM jobs`.execute(harness.database);
    expect(after).toHaveLength(before.length);
  });
});
