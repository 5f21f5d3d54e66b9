import { type Channel, type ChannelModel, connect } from "amqplib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Broker, BrokerEvent, Delivery, Settlement } from "#framemill/queue/broker.js";
import { CONTENT_TYPE, MESSAGE_TYPE } from "#framemill/queue/codec.js";
import { openBroker } from "#framemill/queue/open-broker.js";
import { assertJobQueue, createTopology } from "#framemill/queue/topology.js";
import {
  createGate,
  createJob,
  createNamePrefix,
  createRoutingKey,
  getAmqpUrl,
  until,
} from "../../support/queue-harness.js";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.js";

const ack: Settlement = { type: "ack" };
describe("RabbitMQ broker under faults", () => {
  let direct: ChannelModel;
  let raw: Channel;
  let proxy: TcpProxy;
  let broker: Broker;
  let key: string;
  let events: BrokerEvent[];
  const namePrefix = createNamePrefix();
  const topology = createTopology({ namePrefix });
  const uncaught: unknown[] = [];
  const catchUncaught = (error: unknown) => uncaught.push(error);

  beforeAll(async () => {
    process.on("uncaughtException", catchUncaught);
    process.on("unhandledRejection", catchUncaught);
    direct = await connect(getAmqpUrl(), { noDelay: true });
    raw = await direct.createChannel();
  });
  afterAll(async () => {
    process.off("uncaughtException", catchUncaught);
    process.off("unhandledRejection", catchUncaught);
    await direct?.close();
  });
  beforeEach(async () => {
    const target = new URL(getAmqpUrl());
    proxy = await startTcpProxy(Number(target.port || 5672), target.hostname);
    target.port = String(proxy.port);
    target.hostname = "127.0.0.1";
    events = [];
    key = createRoutingKey();
    broker = await openBroker({
      amqpUrl: target.href,
      namePrefix,
      retryDelaysMs: [300],
      onEvent: (event) => events.push(event),
    });
  });
  afterEach(async () => {
    await broker.close();
    await proxy.close();
  });

  function publishRaw(body: string | Buffer, properties = {}) {
    raw.publish(topology.jobsExchange, key, Buffer.from(body), {
      contentType: CONTENT_TYPE,
      type: MESSAGE_TYPE,
      ...properties,
    });
  }

  test("refuses to publish within 2 s while the broker is away, then recovers within 3 s", async () => {
    await broker.publish(key, createJob());
    await proxy.cut();
    const cutAt = performance.now();
    await expect(broker.publish(key, createJob())).rejects.toMatchObject({
      code: "service_unavailable",
      retryAfterSeconds: 2,
    });
    expect(performance.now() - cutAt).toBeLessThan(2_500);
    expect(broker.connected).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await proxy.restore();
    await until(() => broker.connected, 3_000);
    await broker.publish(key, createJob());
    expect((await broker.depth(key)).ready).toBe(2);
  });

  test("consumes again within 3 s after the port opens; lost deliveries abort and come again", async () => {
    const deliveries: Delivery[] = [];
    const gate = createGate();
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 1 },
      async (delivery) => {
        deliveries.push(delivery);
        if (deliveries.length === 1) await gate.opened;
        return ack;
      },
    );
    await broker.publish(key, createJob());
    await until(() => deliveries.length === 1);
    await proxy.cut();
    await until(() => deliveries[0]?.signal.aborted ?? false, 1_000);
    expect(subscription.consuming).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await proxy.restore();
    await until(() => deliveries.length === 2, 3_000);
    expect(deliveries[1]?.redelivered).toBe(true);
    gate.open(); // A late settlement of the first delivery must disturb nothing.
    await subscription.stop();
    expect((await broker.depth(key)).ready).toBe(0);
  });

  test("notices a black hole and gives up publishing in 2 s meanwhile", async () => {
    await broker.publish(key, createJob());
    proxy.freeze();
    const startedAt = performance.now();
    await expect(broker.publish(key, createJob())).rejects.toMatchObject({
      code: "service_unavailable",
    });
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    await until(() => events.some(({ type }) => type === "connection-lost"), 16_000);
    proxy.thaw();
    await until(() => broker.connected, 5_000);
    await broker.publish(key, createJob());
  });

  test("starts without its broker and connects when it comes", async () => {
    await proxy.cut();
    const late = await openBroker({
      amqpUrl: `amqp://127.0.0.1:${proxy.port}`,
      namePrefix,
      connectTimeoutMs: 200,
    });
    expect(late.connected).toBe(false);
    await proxy.restore();
    await until(() => late.connected, 3_000);
    await late.close();
  });

  test("declares a deleted queue again and goes on consuming and publishing", async () => {
    const ids: string[] = [];
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 1 },
      async ({ job }) => {
        ids.push(job.id);
        return ack;
      },
    );
    await broker.publish(key, createJob());
    await until(() => ids.length === 1);
    await raw.deleteQueue(topology.jobQueue(key));
    await broker.publish(key, createJob({ id: "after-deletion" }));
    await until(() => ids.includes("after-deletion"), 3_000);
    await subscription.stop();
    expect(ids).toHaveLength(2);
  });

  test("gets unstuck when a queue was deleted and declared again at once by somebody else", async () => {
    const ids: string[] = [];
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 1 },
      async ({ job }) => {
        ids.push(job.id);
        return ack;
      },
    );
    await broker.publish(key, createJob());
    await until(() => ids.length === 1);
    await raw.deleteQueue(topology.jobQueue(key));
    await assertJobQueue(raw, topology, key);
    await broker.publish(key, createJob({ id: "swallowed" }));
    await broker.publish(key, createJob({ id: "waiting" }));
    await until(() => ids.includes("swallowed") && ids.includes("waiting"), 20_000);
    await subscription.stop();
    expect(new Set(ids).size).toBe(3);
  });

  test("publishes to a queue that was deleted while nobody consumed", async () => {
    await broker.publish(key, createJob());
    await raw.deleteQueue(topology.jobQueue(key));
    await broker.publish(key, createJob());
    expect((await broker.depth(key)).ready).toBe(1);
  });

  test("buries corrupted messages and goes on", async () => {
    await raw.purgeQueue(topology.deadQueue);
    const ids: string[] = [];
    await broker.publish(key, createJob({ id: "good-before" }));
    const corrupted: readonly [string | Buffer, object][] = [
      ["", {}],
      ["{", {}],
      ["null", {}],
      ["[]", {}],
      ['{"id":""}', {}],
      [Buffer.from([0xff, 0xfe, 0x00]), {}],
      [JSON.stringify({ ...createJob(), expiresAtMs: "soon" }), {}],
      [JSON.stringify(createJob()), { type: "framemill.job.v99" }],
      [JSON.stringify(createJob()), { contentType: "text/plain" }],
      [JSON.stringify(createJob({ request: "x".repeat(80_000) })), {}],
    ];
    for (const [body, properties] of corrupted) publishRaw(body, properties);
    await broker.publish(key, createJob({ id: "good-after" }));
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 4 },
      async ({ job }) => {
        ids.push(job.id);
        return ack;
      },
    );
    await until(() => ids.length === 2);
    await until(
      async () => (await raw.checkQueue(topology.deadQueue)).messageCount === corrupted.length,
    );
    expect(ids.toSorted()).toEqual(["good-after", "good-before"]);
    expect(events.filter(({ type }) => type === "message-corrupted")).toHaveLength(
      corrupted.length,
    );
    await subscription.stop();
  });

  test("buries a rejected job with its routing key", async () => {
    await raw.purgeQueue(topology.deadQueue);
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 1 }, async () => ({
      type: "reject",
    }));
    await broker.publish(key, createJob());
    await until(async () => (await raw.checkQueue(topology.deadQueue)).messageCount === 1);
    const dead = await raw.get(topology.deadQueue, { noAck: true });
    expect(dead && dead.fields.routingKey).toBe(key);
    await subscription.stop();
  });

  test("buries a message that came back 51 times", async () => {
    await raw.purgeQueue(topology.deadQueue);
    let deliveries = 0;
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 1 }, async () => {
      deliveries++;
      return { type: "return" };
    });
    await broker.publish(key, createJob());
    await until(async () => (await raw.checkQueue(topology.deadQueue)).messageCount === 1);
    expect(deliveries).toBe(51);
    await subscription.stop();
  });

  test("returns the message when a retry cannot be published because the channel is gone", async () => {
    const deliveries: Delivery[] = [];
    const gate = createGate();
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 1 },
      async (delivery) => {
        deliveries.push(delivery);
        if (deliveries.length > 1) return ack;
        await gate.opened;
        return { type: "retry", delayMs: 300 };
      },
    );
    await broker.publish(key, createJob());
    await until(() => deliveries.length === 1);
    await proxy.cut();
    gate.open();
    await proxy.restore();
    await until(() => deliveries.length === 2, 5_000);
    await subscription.stop();
    expect(deliveries[0]?.signal.aborted).toBe(true);
  });

  test("publishes 200 jobs in parallel through 5 resets without losing a confirmed one", async () => {
    const confirmed = new Set<string>();
    const received = new Set<string>();
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 20 },
      async ({ job }) => {
        received.add(job.id);
        return ack;
      },
    );
    const publishing = Array.from({ length: 200 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 10));
      const job = createJob();
      await broker.publish(key, job).then(
        () => confirmed.add(job.id),
        () => undefined,
      );
    });
    for (let reset = 0; reset < 5; reset++) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await proxy.cut();
      await proxy.restore();
    }
    await Promise.all(publishing);
    expect(confirmed.size).toBeGreaterThan(50);
    await until(() => [...confirmed].every((id) => received.has(id)), 15_000);
    await subscription.stop();
  });

  test("no fault above left an error uncaught", () => {
    expect(uncaught).toEqual([]);
  });
});
