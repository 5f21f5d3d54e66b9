import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Broker, Delivery, Settlement } from "#framemill/queue/broker.js";
import { openBroker } from "#framemill/queue/index.js";
import {
  createGate,
  createJob,
  createNamePrefix,
  createRoutingKey,
  getAmqpUrl,
  SIGNER,
  until,
} from "../../support/queue-harness.js";

const ack: Settlement = { type: "ack" };
/** `rabbitmqctl` and its arguments for the broker of AMQP_URL; alarms and timeouts need it. */
const ctl = process.env["RABBITMQCTL"]?.split(" ");

describe("RabbitMQ broker in alarms", () => {
  let broker: Broker;
  let key: string;
  const namePrefix = createNamePrefix();

  beforeEach(async () => {
    key = createRoutingKey();
    // So long that only an alarm can be what ends a publish.
    broker = await openBroker({
      signer: SIGNER,
      amqpUrl: getAmqpUrl(),
      namePrefix,
      publishTimeoutMs: 600_000,
      connectTimeoutMs: 60_000,
    });
  });
  afterEach(() => broker.close());

  const run = (...more: string[]) => {
    if (ctl === undefined) throw new Error("RABBITMQCTL must say how to operate AMQP_URL's broker");
    const [command = "", ...rest] = ctl;
    return promisify(execFile)(command, [...rest, ...more]);
  };

  test("fails fast in a memory alarm, still acknowledges, and recovers", async () => {
    const taken: string[] = [];
    const subscription = await broker.consume(
      { routingKeys: [key], prefetch: 1 },
      async ({ job }) => {
        taken.push(job.id);
        await alarmed.opened;
        return ack;
      },
    );
    const alarmed = createGate();
    await broker.publish(key, createJob());
    await broker.publish(key, createJob());
    await until(() => taken.length === 1);
    await run("set_vm_memory_high_watermark", "0.000001");
    try {
      await expect(broker.publish(key, createJob())).rejects.toMatchObject({
        code: "service_unavailable",
        message: expect.stringContaining("alarm"),
      });
      alarmed.open();
      await until(() => taken.length === 2); // The acknowledgement came through.
      await expect(broker.publish(key, createJob())).rejects.toThrow(/alarm/);
      expect(broker.connected).toBe(false);
    } finally {
      await run("set_vm_memory_high_watermark", "0.4");
    }
    await until(() => broker.connected);
    await broker.publish(key, createJob());
    await subscription.stop();
  });

  test("survives consumer_timeout: aborts the delivery and takes it again", async () => {
    await run(
      "eval",
      "application:set_env(rabbit, consumer_timeout, 1500), application:set_env(rabbit, channel_tick_interval, 500).",
    );
    try {
      const deliveries: Delivery[] = [];
      const subscription = await broker.consume(
        { routingKeys: [key], prefetch: 1 },
        async (delivery) => {
          deliveries.push(delivery);
          if (deliveries.length === 1)
            await new Promise((resolve) => delivery.signal.addEventListener("abort", resolve));
          return ack;
        },
      );
      await broker.publish(key, createJob());
      await until(() => deliveries.length === 2);
      // Before RabbitMQ 4.3 the channel is closed.
      expect(String(deliveries[0]?.signal.reason)).toMatch(/PRECONDITION|cancelled the consumer/);
      await subscription.stop();
      expect((await broker.depth(key)).ready).toBe(0);
    } finally {
      await run(
        "eval",
        "application:set_env(rabbit, consumer_timeout, 1800000), application:set_env(rabbit, channel_tick_interval, 60000).",
      );
    }
  });
});
