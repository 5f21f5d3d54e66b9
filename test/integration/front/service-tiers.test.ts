import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { rollUpUsage } from "#framemill/front/ledger/usage-rollup.js";
import { summariseUsage } from "#framemill/front/operations/usage.js";
import type { ServiceTier } from "#framemill/core/service-tier.js";
import {
  BODY,
  call,
  claim,
  completion,
  createJob,
  type Harness,
  openaiClient,
  REPLY_MODELS,
  startHarness,
  upload,
} from "../../support/front-harness.js";
import { openJob, words, wordsCompletion } from "../../support/front-workers.js";

describe("service tiers", () => {
  let harness: Harness;
  beforeAll(async () => void (harness = await startHarness()));
  afterAll(async () => await harness?.close());

  const create = async (serviceTier: string | null, key = harness.account.key) =>
    await createJob(harness.front, key, { ...BODY, service_tier: serviceTier });
  const finish = async (id: string) => {
    const lease = await claim(harness.front, id);
    const files = await upload(harness.store, lease, Buffer.from("x"));
    await harness.front.handlers.complete(completion(lease, files));
  };
  const read = async (path: string, key = harness.account.key) =>
    (await call(`${harness.front.baseUrl}${path}`, { key })).json;
  const clearQueue = async () =>
    await sql`UPDATE jobs SET state = 'failed', ended_at = now() WHERE state = 'queued'`.execute(
      harness.database,
    );

  it("cost what their price rows say, in object, charge and usage, before and after sums are made", async () => {
    const { project, key } = await harness.createAccount();
    const prices: Record<ServiceTier, number> = { flex: 0.09, default: 0.18, priority: 0.36 };
    for (const [serviceTier, perSecond] of Object.entries(prices)) {
      const id = await create(serviceTier, key);
      const amount = perSecond * 4;
      const cost = { per_second: perSecond, amount };
      expect(await read(`/videos/${id}`, key)).toMatchObject({ service_tier: serviceTier, cost });
      await finish(id);
      expect(await read(`/charges/${id}`, key)).toMatchObject({
        service_tier: serviceTier,
        amount,
      });
    }
    const usage = async () => await summariseUsage(harness.database, { project: project.id });
    const summed = await usage();
    expect(
      summed.map(({ tier, serviceTier, chargedMicroUsd }) => [tier, serviceTier, chargedMicroUsd]),
    ).toEqual([
      ["standard", "priority", 1_440_000],
      ["standard", "default", 720_000],
      ["standard", "flex", 360_000],
    ]);
    await sql`UPDATE usage_rollup SET rolled_until = now() - interval '1 hour'`.execute(
      harness.database,
    );
    await sql`UPDATE charges SET created_at = now() - interval '2 minutes'
      WHERE project_id = ${project.id}`.execute(harness.database);
    await rollUpUsage(harness.database);
    expect(await usage()).toEqual(summed);
    const [all] = await summariseUsage(harness.database, { project: project.id, by: ["tier"] });
    expect(all).toMatchObject({ tier: "standard", jobs: 3, chargedNanoUsd: 2_520_000_000 });
  });

  it("are the usual one where a request says none, or auto", async () => {
    for (const said of [null, "auto"]) {
      const id = await create(said);
      expect((await read(`/videos/${id}`)).service_tier).toBe("default");
    }
    await clearQueue();
  });

  it("have queues of their own: a priority job goes there whatever waits as flex", async () => {
    for (let count = 0; count < 8; count += 1) await create("flex");
    const usual = await create("default");
    const priority = await create("priority");
    const published = harness.published.slice(-6).map(({ serviceTier }) => serviceTier);
    expect(published).toEqual(["flex", "flex", "flex", "flex", "default", "priority"]);
    const last = await create("flex");
    const positions = await Promise.all(
      [priority, usual, last].map(async (id) => (await read(`/videos/${id}`)).queue_position),
    );
    expect(positions).toEqual([1, 2, 11]);
    await clearQueue();
  });

  it("are said in answers to callers who wait", async () => {
    const client = openaiClient(harness.front, harness.account.key);
    const asking = client.chat.completions.create({
      model: REPLY_MODELS.unattended,
      messages: [{ role: "user", content: "hello" }],
      service_tier: "priority",
    });
    const lease = await claim(harness.front, await openJob(harness));
    expect(lease.prices).toEqual({ inputTokens: 0.3, outputTokens: 1.2 });
    await harness.front.handlers.complete(wordsCompletion(lease, words("hi")));
    expect((await asking).service_tier).toBe("priority");
  });

  it("are refused where they are none, and where the price table has no row for them", async () => {
    const refuse = async (baseUrl: string, serviceTier: unknown) => {
      const body = { ...BODY, service_tier: serviceTier };
      const { status, json } = await call(`${baseUrl}/videos`, { key: harness.account.key, body });
      expect([status, json.error.param]).toEqual([400, "service_tier"]);
      return json.error.message as string;
    };
    expect(await refuse(harness.front.baseUrl, "scale")).toBe(
      'service_tier must be one of auto, priority, default, flex, got "scale"',
    );
    expect(await refuse(harness.front.baseUrl, 7)).toContain("got number");
    const pricesFile = join(harness.config.dataDir, "prices.json");
    const rows = { video: { videoSeconds: 100 }, "video@flex": { videoSeconds: 10 } };
    await writeFile(pricesFile, JSON.stringify(rows));
    const config = { ...harness.config, pricesFile };
    const { baseUrl } = await harness.startReplica({ config });
    expect(await refuse(baseUrl, "priority")).toBe(
      `service_tier priority is not offered for ${BODY.model}, which has default, flex`,
    );
  });
});
