import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SERVICE_TIERS, type ServiceTier } from "#framemill/core/service-tier.js";
import type { Broker, Delivery, Settlement } from "#framemill/queue/broker.js";
import { openBroker, type OpenBrokerOptions } from "#framemill/queue/index.js";
import {
  createGate,
  createJob,
  createNamePrefix,
  createRoutingKey,
  getAmqpUrl,
  SIGNER,
  until,
} from "../../support/queue-harness.js";

const RETRY_DELAYS_MS = [100, 400];
/** Nothing here is about a broker that does not answer. */
const PATIENT = { publishTimeoutMs: 60_000, connectTimeoutMs: 60_000 };
const ack: Settlement = { type: "ack" };

describe.each([
  // While it is full a consumer is passed over in-process, and leaves its queues on RabbitMQ.
  { name: "in-process", amqpUrl: () => undefined, consumersWhileFull: 1 },
  { name: "RabbitMQ", amqpUrl: getAmqpUrl, consumersWhileFull: 0 },
])("$name broker", ({ amqpUrl, consumersWhileFull }) => {
  let broker: Broker;

  beforeAll(async () => {
    const own = { namePrefix: createNamePrefix(), retryDelaysMs: RETRY_DELAYS_MS };
    broker = await openBroker({ signer: SIGNER, amqpUrl: amqpUrl(), ...own, ...PATIENT });
  });
  afterAll(() => broker?.close());

  /** Takes everything at once and settles it as the test says. */
  async function collect(
    routingKey: string,
    settle: (delivery: Delivery) => Settlement = () => ack,
  ) {
    const deliveries: Delivery[] = [];
    const subscription = await broker.consume(
      { routingKeys: [routingKey], prefetch: 10 },
      async (delivery) => {
        deliveries.push(delivery);
        return settle(delivery);
      },
    );
    return { deliveries, subscription };
  }

  test("is connected once open", () => {
    expect(broker.connected).toBe(true);
  });

  test("delivers a job as it was published", async () => {
    const key = createRoutingKey();
    const job = createJob({
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    });
    await broker.publish(key, job);
    const { deliveries, subscription } = await collect(key);
    await until(() => deliveries.length === 1);
    expect(deliveries[0]?.job).toEqual(job);
    expect(deliveries[0]?.redelivered).toBe(false);
    expect(deliveries[0]?.signal.aborted).toBe(false);
    await subscription.stop();
  });

  test("keeps jobs for a later consumer, in order", async () => {
    const key = createRoutingKey();
    const jobs = Array.from({ length: 20 }, () => createJob());
    for (const job of jobs) await broker.publish(key, job);
    expect((await broker.depth(key)).ready).toBe(20);
    const { deliveries, subscription } = await collect(key);
    await until(() => deliveries.length === 20);
    expect(deliveries.map(({ job }) => job.id)).toEqual(jobs.map(({ id }) => id));
    await subscription.stop();
    await until(async () => (await broker.depth(key)).ready === 0);
  });

  test("keeps routing keys apart", async () => {
    const [mine, other] = [createRoutingKey(), createRoutingKey()];
    await broker.publish(other, createJob());
    await broker.publish(mine, createJob({ id: "mine" }));
    const { deliveries, subscription } = await collect(mine);
    await until(() => deliveries.length === 1);
    expect(deliveries[0]?.job.id).toBe("mine");
    expect((await broker.depth(other)).ready).toBe(1);
    await subscription.stop();
  });

  test("fills the places of the highest priority first", async () => {
    const key = createRoutingKey();
    const took: string[] = [];
    const gate = createGate();
    const consume = (name: string, priority: number) =>
      broker.consume({ routingKeys: [key], prefetch: 2, priority }, async () => {
        took.push(name);
        await gate.opened;
        return ack;
      });
    const subscriptions = [await consume("later", 0), await consume("first", 1)];
    await until(async () => (await broker.depth(key)).consumers === 2);
    for (let count = 1; count <= 4; count++) {
      await broker.publish(key, createJob());
      await until(() => took.length === count);
    }
    expect(took).toEqual(["first", "first", "later", "later"]);
    gate.open();
    for (const subscription of subscriptions) await subscription.stop();
  });

  test("consumes only the keys it is limited to, beside jobs in flight", async () => {
    const [dear, cheap] = [createRoutingKey(), createRoutingKey()];
    const took: string[] = [];
    const gate = createGate();
    const both = await broker.consume({ routingKeys: [dear, cheap], prefetch: 2 }, async (one) => {
      took.push(one.job.id);
      if (one.job.id === "slow") await gate.opened;
      return ack;
    });
    await broker.publish(dear, createJob({ id: "slow" }));
    await until(() => took.length === 1);
    both.limitTo([cheap]);
    // Once the cheap key's job is there, the dear one's was passed over.
    await broker.publish(dear, createJob({ id: "dear" }));
    for (const id of ["cheap-1", "cheap-2"]) await broker.publish(cheap, createJob({ id }));
    await until(() => took.length >= 3);
    expect(took).toEqual(["slow", "cheap-1", "cheap-2"]);
    both.limitTo([dear, cheap]);
    await until(() => took.length >= 4);
    expect(took.at(-1)).toBe("dear");
    gate.open();
    await both.stop();
  });

  test("of one key pauses, keeps its prefetch, and resumes", async () => {
    const key = createRoutingKey();
    const took: string[] = [];
    const gate = createGate();
    const one = await broker.consume({ routingKeys: [key], prefetch: 2 }, async ({ job }) => {
      took.push(job.id);
      await gate.opened;
      return ack;
    });
    await broker.publish(key, createJob());
    await until(() => took.length === 1);
    one.limitTo([]);
    for (let count = 0; count < 3; count++) await broker.publish(key, createJob());
    await until(async () => (await broker.depth(key)).ready === 3);
    expect(took).toHaveLength(1);
    one.limitTo([key]);
    await until(async () => (await broker.depth(key)).ready === 2);
    expect(took).toHaveLength(2);
    gate.open();
    await until(() => took.length === 4);
    await one.stop();
  });

  test("counts consumers", async () => {
    const key = createRoutingKey();
    expect((await broker.depth(key)).consumers).toBe(0);
    const { subscription } = await collect(key);
    await until(async () => (await broker.depth(key)).consumers === 1);
    await subscription.stop();
    await until(async () => (await broker.depth(key)).consumers === 0);
  });

  test.each([
    { keys: 1, prefetch: 1 },
    { keys: 1, prefetch: 3 },
    { keys: 4, prefetch: 1 },
    { keys: 4, prefetch: 3 },
  ])("holds $prefetch jobs at once over $keys routing keys", async ({ keys, prefetch }) => {
    const routingKeys = Array.from({ length: keys }, createRoutingKey);
    const endings = new Set<() => void>();
    let most = 0;
    const subscription = await broker.consume({ routingKeys, prefetch }, async () => {
      const gate = createGate();
      most = Math.max(most, endings.add(() => gate.open()).size);
      await gate.opened;
      return ack;
    });
    await until(() => subscription.consuming);
    for (let round = 0; round < 3; round++)
      await Promise.all(routingKeys.map((key) => broker.publish(key, createJob())));
    await until(async () => {
      const depths = await Promise.all(routingKeys.map((key) => broker.depth(key)));
      return depths.reduce((sum, { ready }) => sum + ready, 0) === 3 * keys - prefetch;
    });
    for (let left = 3 * keys; left > 0; left--) {
      await until(() => endings.size === Math.min(left, prefetch));
      const [end = () => {}] = endings;
      endings.delete(end);
      end();
    }
    expect(most).toBe(prefetch);
    await subscription.stop();
  });

  test("leaves waiting jobs of other keys to others while full", async () => {
    const [busyKey, freeKey] = [createRoutingKey(), createRoutingKey()];
    const gate = createGate();
    const full = await broker.consume(
      { routingKeys: [busyKey, freeKey], prefetch: 1 },
      async () => {
        await gate.opened;
        return ack;
      },
    );
    await broker.publish(busyKey, createJob());
    await until(async () => (await broker.depth(busyKey)).ready === 0);
    await until(async () => (await broker.depth(freeKey)).consumers === consumersWhileFull);
    await broker.publish(freeKey, createJob());
    const { deliveries, subscription } = await collect(freeKey);
    await until(() => deliveries.length === 1);
    gate.open();
    await Promise.all([full.stop(), subscription.stop()]);
    expect(deliveries[0]?.redelivered).toBe(false);
  });

  test("takes priority jobs before usual ones, and flex jobs last", async () => {
    const key = createRoutingKey();
    const gate = createGate();
    const taken: (string | undefined)[] = [];
    const tiers = { serviceTiers: SERVICE_TIERS, prefetch: 1 };
    await broker.publish(key, createJob());
    const subscription = await broker.consume({ ...tiers, routingKeys: [key] }, async ({ job }) => {
      taken.push(job.serviceTier);
      await gate.opened;
      return ack;
    });
    await until(() => taken.length === 1);
    for (const serviceTier of ["flex", "default", "priority", "flex", "priority"] as const)
      await broker.publish(key, createJob({ serviceTier }));
    await until(async () => (await broker.depth(key, "priority")).ready === 2);
    gate.open();
    await until(() => taken.length === 6);
    await subscription.stop();
    expect(taken.slice(1)).toEqual(["priority", "priority", "default", "flex", "flex"]);
  });

  test("takes a priority job in the place of a flex job, and beyond no other job", async () => {
    const [key, other] = [createRoutingKey(), createRoutingKey()];
    const ends = new Map<string, () => void>();
    const consume = { routingKeys: [key, other], serviceTiers: SERVICE_TIERS, prefetch: 1 };
    const subscription = await broker.consume(
      { ...consume, preemptible: [key] },
      async ({ job }) => {
        const gate = createGate();
        ends.set(job.id, () => gate.open());
        await gate.opened;
        return ack;
      },
    );
    const publish = async (serviceTier: ServiceTier, to = key) => {
      const job = createJob({ serviceTier });
      await broker.publish(to, job);
      return job.id;
    };
    const end = (id: string) => ends.get(id)?.();
    const flex = await publish("flex");
    await until(() => ends.has(flex));
    const usual = await publish("default");
    const [first, second] = [await publish("priority"), await publish("priority", other)];
    await until(() => ends.has(first) || ends.has(second));
    end(flex);
    const [before, after] = ends.has(first) ? [first, second] : [second, first];
    end(before);
    await until(() => ends.has(after));
    expect(ends.has(usual)).toBe(false);
    end(after);
    await until(() => ends.has(usual));
    end(usual);
    // Flex jobs of a key that is not named keep their places.
    const kept = await publish("flex", other);
    await until(() => ends.has(kept));
    const waiting = await publish("priority");
    await until(async () => (await broker.depth(key, "priority")).ready === 1);
    expect(ends.has(waiting)).toBe(false);
    end(kept);
    await until(() => ends.has(waiting));
    end(waiting);
    await subscription.stop();
  });

  test("leaves a priority job to a consumer with a free place, before one with a flex job", async () => {
    const key = createRoutingKey();
    const gate = createGate();
    const taken: string[] = [];
    const consume = async (name: string) =>
      await broker.consume(
        { routingKeys: [key], serviceTiers: SERVICE_TIERS, prefetch: 1, preemptible: [key] },
        async ({ job }) => {
          taken.push(`${name} ${job.serviceTier}`);
          await gate.opened;
          return ack;
        },
      );
    const full = await consume("full");
    await broker.publish(key, createJob({ serviceTier: "flex" }));
    await until(() => taken.length === 1);
    await until(async () => (await broker.depth(key)).consumers === consumersWhileFull);
    const free = await consume("free");
    await until(async () => (await broker.depth(key, "priority")).consumers === 2);
    await broker.publish(key, createJob({ serviceTier: "priority" }));
    await until(() => taken.length === 2);
    gate.open();
    await Promise.all([full.stop(), free.stop()]);
    expect(taken).toEqual(["full flex", "free priority"]);
  });

  test("retries no earlier than asked, in the next longer retry queue", async () => {
    const key = createRoutingKey();
    const arrivals: number[] = [];
    const { deliveries, subscription } = await collect(key, () => {
      arrivals.push(performance.now());
      return arrivals.length === 1 ? { type: "retry", delayMs: 101, unanswered: 3 } : ack;
    });
    await broker.publish(key, createJob());
    await until(() => arrivals.length === 2);
    const waitedMs = (arrivals[1] ?? 0) - (arrivals[0] ?? 0);
    // Timers may come a few milliseconds early, but not 300.
    expect(waitedMs).toBeGreaterThanOrEqual(390);
    expect(deliveries.map(({ unanswered = 0 }) => unanswered)).toEqual([0, 3]);
    await subscription.stop();
  });

  test("delivers a returned job again, marked as redelivered", async () => {
    const key = createRoutingKey();
    const { deliveries, subscription } = await collect(key, ({ redelivered }) =>
      redelivered ? ack : { type: "return" },
    );
    await broker.publish(key, createJob());
    await until(() => deliveries.length === 2);
    expect(deliveries.map(({ redelivered }) => redelivered)).toEqual([false, true]);
    await subscription.stop();
  });

  test("does not deliver a rejected job again", async () => {
    const key = createRoutingKey();
    const { deliveries, subscription } = await collect(key, () => ({ type: "reject" }));
    await broker.publish(key, createJob());
    await until(() => deliveries.length === 1);
    await subscription.stop();
    expect((await broker.depth(key)).ready).toBe(0);
  });

  test("stop waits for jobs in flight and leaves the rest in the queue", async () => {
    const key = createRoutingKey();
    const gate = createGate();
    let settled = 0;
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 1 }, async () => {
      await gate.opened;
      settled++;
      return ack;
    });
    for (let i = 0; i < 3; i++) await broker.publish(key, createJob());
    await until(async () => (await broker.depth(key)).ready === 2);
    const stopped = subscription.stop();
    expect(subscription.consuming).toBe(false);
    gate.open();
    await stopped;
    expect(settled).toBe(1);
    await until(async () => (await broker.depth(key)).ready === 2);
  });

  test("refuses a request above 64 KiB and takes one of exactly 64 KiB", async () => {
    const key = createRoutingKey();
    const atLimit = "x".repeat(65_536 - '""'.length);
    await broker.publish(key, createJob({ request: atLimit }));
    const publishing = broker.publish(key, createJob({ request: `${atLimit}x` }));
    await expect(publishing).rejects.toMatchObject({ code: "payload_too_large" });
  });

  test("refuses a publish whose caller gave up", async () => {
    const publishing = broker.publish(createRoutingKey(), createJob(), {
      signal: AbortSignal.abort(),
    });
    await expect(publishing).rejects.toMatchObject({ code: "service_unavailable" });
  });

  test("survives a consumer that stops twice and one that got no job", async () => {
    const { subscription } = await collect(createRoutingKey());
    await subscription.stop();
    await subscription.stop();
    expect(subscription.consuming).toBe(false);
  });

  test("lists dead letters, requeues or removes them, and loses none by listing", async () => {
    const key = createRoutingKey();
    const jobs = [createJob(), createJob()];
    for (const job of jobs) await broker.publish(key, job);
    const refusing = await collect(key, () => ({ type: "reject" }));
    const mine = async () =>
      (await broker.deadLetters.list(100)).filter(({ routingKey }) => routingKey === key);
    await until(async () => (await mine()).length === 2);
    await refusing.subscription.stop();
    // RabbitMQ 4 would drop what came back 20 times.
    for (let looks = 0; looks < 25; looks += 1) await mine();
    const dead = await mine();
    expect(new Set(dead.map(({ jobId }) => jobId))).toEqual(new Set(jobs.map(({ id }) => id)));
    const rejected = { reason: "rejected", fault: null };
    expect(dead).toMatchObject([rejected, rejected]);
    const [replayed, dropped] = dead.map(({ id }) => id) as [string, string];
    expect(await broker.deadLetters.replay(replayed)).toBe(true);
    expect(await broker.deadLetters.drop(dropped)).toBe(true);
    expect(await broker.deadLetters.drop(dropped)).toBe(false);
    expect(await mine()).toEqual([]);
    const { deliveries, subscription } = await collect(key);
    await until(() => deliveries.length === 1);
    expect(deliveries[0]?.job.id).toBe(dead[0]?.jobId);
    await subscription.stop();
  });
});

describe.each([
  { name: "in-process", amqpUrl: () => undefined },
  { name: "RabbitMQ", amqpUrl: getAmqpUrl },
])("a $name broker of its own", ({ amqpUrl }) => {
  const openOwn = (more: Partial<OpenBrokerOptions> = {}) =>
    openBroker({
      signer: SIGNER,
      amqpUrl: amqpUrl(),
      namePrefix: createNamePrefix(),
      ...PATIENT,
      ...more,
    });

  test("refuses to publish and is not connected once closed", async () => {
    const broker = await openOwn();
    await broker.close();
    expect(broker.connected).toBe(false);
    const publishing = broker.publish(createRoutingKey(), createJob());
    await expect(publishing).rejects.toMatchObject({ code: "service_unavailable" });
  });

  test("delivers jobs while consumers are still being opened", async () => {
    const broker = await openOwn();
    const key = createRoutingKey();
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 1 }, async () => ack);
    expect(broker.connected).toBe(true);
    await broker.publish(key, createJob());
    await subscription.stop();
    await broker.close();
  });

  test("loses no connection when many begin at once on queues that nobody has declared", async () => {
    const events: string[] = [];
    const broker = await openOwn({ onEvent: ({ type }) => events.push(type) });
    for (const key of Array.from({ length: 10 }, createRoutingKey)) {
      const consume = () => broker.consume({ routingKeys: [key], prefetch: 1 }, async () => ack);
      const subscriptions = await Promise.all([consume(), consume(), consume()]);
      await until(async () => (await broker.depth(key)).consumers === 3);
      await Promise.all(subscriptions.map((subscription) => subscription.stop()));
    }
    expect(events).not.toContain("connection-lost");
    await broker.close();
  });

  test("retries a job whose handler threw", async () => {
    const events: string[] = [];
    const broker = await openOwn({
      retryDelaysMs: [200],
      onEvent: ({ type }) => events.push(type),
    });
    const key = createRoutingKey();
    let calls = 0;
    await broker.consume({ routingKeys: [key], prefetch: 1 }, async () => {
      if (++calls === 1) throw new Error("planned");
      return ack;
    });
    await broker.publish(key, createJob());
    await until(() => calls === 2);
    expect(events).toContain("handler-failed");
    await broker.close();
  });
});
