import { type Channel, type ChannelModel, connect } from "amqplib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Broker, BrokerEvent, Delivery, Settlement } from "#framemill/queue/broker.js";
import {
  CONTENT_TYPE,
  createMessageSigner,
  MESSAGE_TYPE,
  SIGNATURE,
} from "#framemill/queue/message.js";
import { openBroker } from "#framemill/queue/index.js";
import { assertJobQueue, createTopology } from "#framemill/queue/topology.js";
import {
  createGate,
  createJob,
  createNamePrefix,
  createRoutingKey,
  getAmqpUrl,
  signed,
  SIGNER,
  until,
} from "../../support/queue-harness.js";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.js";

const ack: Settlement = { type: "ack" };
/** By then the pauses between tries to connect are at their longest, a second. */
const FAILED_TRIES = 4;

describe("RabbitMQ broker under faults", () => {
  let direct: ChannelModel;
  let raw: Channel;
  let proxy: TcpProxy;
  let broker: Broker;
  let key: string;
  let proxied: string;
  const events: BrokerEvent[] = [];
  const onEvent = (event: BrokerEvent) => void events.push(event);
  const countOf = (name: BrokerEvent["type"]) => events.filter(({ type }) => type === name).length;
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
    proxied = target.href;
    events.length = 0;
    key = createRoutingKey();
    const patient = { publishTimeoutMs: 60_000, connectTimeoutMs: 60_000 };
    const own = { amqpUrl: proxied, namePrefix, retryDelaysMs: [300], onEvent };
    broker = await openBroker({ signer: SIGNER, ...own, ...patient });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await broker.close();
    await proxy.close();
  });

  function publishRaw(body: string | Buffer, properties = {}) {
    const bytes = Buffer.from(body);
    raw.publish(topology.jobsExchange, key, bytes, {
      contentType: CONTENT_TYPE,
      type: MESSAGE_TYPE,
      headers: signed(key, bytes),
      ...properties,
    });
  }

  test("refuses to publish while the broker is away, then finds it again", async () => {
    const hasty = await openBroker({
      signer: SIGNER,
      amqpUrl: proxied,
      namePrefix,
      publishTimeoutMs: 200,
    });
    await broker.publish(key, createJob());
    await proxy.cut();
    await expect(hasty.publish(key, createJob())).rejects.toMatchObject({
      code: "service_unavailable",
      retryAfterSeconds: 2,
    });
    await hasty.close();
    await until(() => !broker.connected);
    await until(() => countOf("connection-failed") >= FAILED_TRIES);
    await proxy.restore();
    await until(() => broker.connected);
    await broker.publish(key, createJob());
    expect((await broker.depth(key)).ready).toBe(2);
  });

  test("consumes again after the port opens; lost deliveries abort and are redelivered", async () => {
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
    await until(() => deliveries[0]?.signal.aborted ?? false);
    expect(subscription.consuming).toBe(false);
    await until(() => countOf("connection-failed") >= FAILED_TRIES);
    await proxy.restore();
    await until(() => deliveries.length === 2);
    expect(deliveries[1]?.redelivered).toBe(true);
    gate.open(); // A late settlement of the first delivery must disturb nothing.
    await subscription.stop();
    expect((await broker.depth(key)).ready).toBe(0);
  });

  test("detects a connection that is silent, refuses to publish meanwhile, and recovers", async () => {
    // Heartbeats every second instead of every five: a dead peer is noticed after two to three.
    const url = new URL(proxied);
    url.searchParams.set("heartbeat", "1");
    const hasty = { publishTimeoutMs: 500, onEvent };
    const wary = await openBroker({ signer: SIGNER, amqpUrl: url.href, namePrefix, ...hasty });
    // On a busy machine it may take its own slowness for a hole.
    const isPublished = () =>
      wary.publish(key, createJob()).then(
        () => true,
        () => false,
      );
    await until(isPublished);
    events.length = 0;
    proxy.freeze();
    await expect(wary.publish(key, createJob())).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await until(() => countOf("connection-lost") > 0);
    proxy.thaw();
    await until(isPublished);
    await wary.close();
  });

  test("starts without its broker and connects when it comes", async () => {
    await proxy.cut();
    const reopened = await openBroker({
      signer: SIGNER,
      amqpUrl: `amqp://127.0.0.1:${proxy.port}`,
      namePrefix,
      connectTimeoutMs: 200,
    });
    expect(reopened.connected).toBe(false);
    await proxy.restore();
    await until(() => reopened.connected);
    await reopened.close();
  });

  test("declares a deleted queue again and continues to consume and publish", async () => {
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
    await until(() => ids.includes("after-deletion"));
    await subscription.stop();
    expect(ids).toHaveLength(2);
  });

  test("recovers when a queue was deleted and declared again at once by another client", async () => {
    const ids: string[] = [];
    // The connection's heartbeats are by the real clock, the looks of the consumer below are not.
    const other = { routingKeys: [createRoutingKey()], prefetch: 1 };
    const first = await broker.consume(other, async () => ack);
    await until(() => first.consuming);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
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
    await until(() => {
      vi.advanceTimersByTime(5_000);
      return ids.includes("swallowed") && ids.includes("waiting");
    });
    await subscription.stop();
    expect(new Set(ids).size).toBe(3);
  });

  test("publishes to a queue that was deleted while nobody consumed", async () => {
    await broker.publish(key, createJob());
    await raw.deleteQueue(topology.jobQueue(key));
    await broker.publish(key, createJob());
    expect((await broker.depth(key)).ready).toBe(1);
  });

  test("dead-letters corrupted messages and continues", async () => {
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
    const intake = { routingKeys: [key], prefetch: 4 };
    const subscription = await broker.consume(intake, async ({ job }) => {
      ids.push(job.id);
      return ack;
    });
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

  test("dead-letters unsigned messages with the reason, and refuses to requeue them", async () => {
    await raw.purgeQueue(topology.deadQueue);
    const handled: string[] = [];
    const body = Buffer.from(JSON.stringify(createJob({ reportTo: "198.51.100.1:8081" })));
    const stranger = createMessageSigner({ secret: "the-token-of-another-installation" });
    const forged = [
      {},
      { [SIGNATURE]: 7 },
      { [SIGNATURE]: stranger.sign(key, body) },
      { [SIGNATURE]: SIGNER.sign("video.another-queue", body) },
      { [SIGNATURE]: SIGNER.sign(key, Buffer.concat([body, Buffer.from(" ")])) },
    ];
    await broker.publish(key, createJob({ id: "signed" }));
    for (const headers of forged) publishRaw(body, { headers });
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 4 }, async (one) => {
      handled.push(one.job.id);
      return ack;
    });
    await until(async () => (await broker.deadLetters.list(100)).length === forged.length);
    const dead = await broker.deadLetters.list(100);
    await until(() => handled.length > 0);
    expect(handled).toEqual(["signed"]);
    expect(dead.map(({ fault }) => fault?.split(":")[0])).toEqual([
      "message has no framemill-signature",
      "message has no framemill-signature",
      ...Array.from({ length: 3 }, () => "message has a wrong framemill-signature"),
    ]);
    await expect(broker.deadLetters.replay(dead[0]?.id ?? "")).rejects.toMatchObject({
      code: "invalid_value",
    });
    await subscription.stop();
  });

  test("accepts unsigned messages during an upgrade, and wrongly signed ones never", async () => {
    await raw.purgeQueue(topology.deadQueue);
    const secret = "the-worker-token-of-tests";
    const signer = createMessageSigner({ secret, acceptUnsigned: true });
    const lenient = await openBroker({
      amqpUrl: getAmqpUrl(),
      namePrefix,
      signer,
      retryDelaysMs: [300],
    });
    const handled: string[] = [];
    const subscription = await lenient.consume({ routingKeys: [key], prefetch: 4 }, async (one) => {
      handled.push(one.job.id);
      return handled.length === 1 ? { type: "retry", delayMs: 0 } : ack;
    });
    await until(() => subscription.consuming);
    const unsigned = createJob({ id: "unsigned" });
    publishRaw(JSON.stringify(createJob({ id: "forged" })), { headers: { [SIGNATURE]: "v1=00" } });
    publishRaw(JSON.stringify(unsigned), { headers: {} });
    await until(async () => (await raw.checkQueue(topology.deadQueue)).messageCount === 1);
    await until(() => handled.length === 2);
    expect(handled).toEqual([unsigned.id, unsigned.id]);
    await subscription.stop();
    await lenient.close();
  });

  test("dead-letters a rejected job with its routing key", async () => {
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

  test("dead-letters a message that was returned 51 times", async () => {
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
    await until(() => deliveries.length === 2);
    await subscription.stop();
    expect(deliveries[0]?.signal.aborted).toBe(true);
  });

  test("publishes through resets without losing a confirmed job", async () => {
    const confirmed = new Set<string>();
    const received = new Set<string>();
    const intake = { routingKeys: [key], prefetch: 20 };
    const subscription = await broker.consume(intake, async ({ job }) => {
      received.add(job.id);
      return ack;
    });
    let isOver = false;
    const publishing = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const job = createJob();
        await broker.publish(key, job).then(
          () => confirmed.add(job.id),
          () => undefined,
        );
      }
    });
    for (let reset = 1; reset <= 5; reset++) {
      // Each reset hits eight jobs on their way.
      await until(() => confirmed.size >= reset * 20);
      await proxy.cut();
      await proxy.restore();
    }
    isOver = true;
    await Promise.all(publishing);
    await until(() => [...confirmed].every((id) => received.has(id)));
    await subscription.stop();
    expect(countOf("connection-lost")).toBeGreaterThanOrEqual(5);
  });

  test("no fault above left an error uncaught", () => {
    expect(uncaught).toEqual([]);
  });
});
