import type { Channel, ConfirmChannel } from "amqplib";
import { JobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { keyOfTier } from "../core/service-tier.js";
import { orAbort } from "../core/async/deadline.js";
import { keepChannel, keepConnection, type KeptOpen } from "./connection.js";
import type { Broker, BrokerEvent, QueueDepth, Subscription } from "./broker.js";
import { encodeJob, type MessageSigner } from "./message.js";
import { startConsumer } from "./consumer.js";
import { createPublisher, type OutgoingMessage } from "./publisher.js";
import { createDeadLetters } from "./dead-letters.js";
import {
  assertJobQueue,
  assertTopology,
  createTopology,
  type TopologyOptions,
} from "./topology.js";

export interface RabbitmqOptions extends TopologyOptions {
  /** `amqp(s)://user:password@host:port/vhost`. */
  readonly url: string;
  /** Prefix of the connections' names at the broker. */
  readonly name: string;
  /** Longest wait for a publish's confirm and for a queue's depth, in milliseconds. */
  readonly publishTimeoutMs: number;
  readonly signer: MessageSigner;
  readonly onEvent: (event: BrokerEvent) => void;
}

/**
 * A broker over two connections. One publishes; the other only consumes, because a broker in a
 * resource alarm stops reading from connections that publish, and acknowledgements with them.
 */
export function createRabbitmqBroker(options: RabbitmqOptions): Broker {
  const { url, name, signer, onEvent } = options;
  const topology = createTopology(options);
  const publisher = createPublisher({ ...options, name: `${name} publish`, topology });
  const subscriptions = new Set<Subscription>();
  // Opened at first use: a process that only publishes needs no second connection.
  const consuming = lazy(() => keepConnection({ url, name: `${name} consume`, onEvent }));
  const inspecting = lazy(() =>
    keepChannel<Channel, Channel>({
      connection: consuming.get(),
      name: `${name} inspect`,
      onEvent,
      create: (connection) => connection.createChannel(),
      setup: (channel) => Promise.resolve(channel),
    }),
  );
  // An operator's looks take a connection of their own, at the first of them.
  const looking = lazy(() => keepConnection({ url, name: `${name} look`, onEvent }));
  const dead = lazy(() =>
    keepChannel<ConfirmChannel, ConfirmChannel>({
      connection: looking.get(),
      name: `${name} look`,
      onEvent,
      create: (connection) => connection.createConfirmChannel(),
      async setup(channel) {
        await assertTopology(channel, topology);
        return channel;
      },
    }),
  );
  const openChannel = () =>
    withTimeout(options.publishTimeoutMs, async (signal) => await dead.get().get(signal));

  return {
    deadLetters: createDeadLetters({ topology, publisher, signer, openChannel }),
    get connected() {
      return publisher.connected;
    },
    system: "rabbitmq",
    async publish(routingKey, job, { signal } = {}) {
      const key = keyOfTier(routingKey, job.serviceTier);
      await publisher.publish(key, toMessage(signer, key, job), signal);
    },
    async consume(consume, handler) {
      const connection = consuming.get();
      const shared = { topology, publisher, signer, onEvent };
      const consumer = { ...shared, connection, name: `${name} consume` };
      const subscription = startConsumer(consumer, consume, handler);
      subscriptions.add(subscription);
      return subscription;
    },
    depth: (routingKey, serviceTier) =>
      withTimeout(options.publishTimeoutMs, async (signal): Promise<QueueDepth> => {
        const channel = await inspecting.get().get(signal);
        return await assertJobQueue(channel, topology, keyOfTier(routingKey, serviceTier));
      }),
    async close() {
      await Promise.all([...subscriptions].map((subscription) => subscription.stop()));
      for (const kept of [inspecting, consuming, dead, looking]) await kept.close();
      await publisher.close();
    },
  };
}

function toMessage(signer: MessageSigner, routingKey: string, job: Job): OutgoingMessage {
  const body = encodeJob(job);
  return { body, signature: signer.sign(routingKey, body), traceparent: job.traceparent };
}

/** Kept open from its first use on. */
function lazy<T>(create: () => KeptOpen<T>) {
  let made: KeptOpen<T> | undefined;
  return {
    get: () => (made ??= create()),
    close: async () => await made?.close(),
  };
}

/** Rejects with `service_unavailable` when the broker does not answer in time. */
async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await orAbort(work(signal), signal);
  } catch (cause) {
    throw new JobError("service_unavailable", "queue unavailable: the broker does not answer", {
      cause,
      retryAfterSeconds: 2,
    });
  }
}
