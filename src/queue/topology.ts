import type { Channel, Options } from "amqplib";
import { withDeadline } from "../core/async/deadline.js";
import { keyOfTier, SERVICE_TIERS, type ServiceTier } from "../core/service-tier.js";
import type { ConsumeOptions } from "./broker.js";

/** How long a message may wait in a retry queue, in milliseconds, shortest first. */
export const RETRY_DELAYS_MS: readonly number[] = [5_000, 30_000, 120_000];

/**
 * Deliveries a message survives before the broker buries it. A backstop only: attempts are counted
 * by the front, and what a worker returns adds one here: by `basic.reject`, since `basic.nack` is not
 * counted by RabbitMQ 4.3 (rabbitmq.com/docs/4.3/nack). Before 4.3 restarts and lost channels do, too.
 */
export const DELIVERY_LIMIT = 50;

/** Delay of a delivery whose handler threw, in milliseconds. */
export const HANDLER_FAILED_DELAY_MS = 5_000;

/** Longest wait for another channel's first declaration of a queue, in milliseconds. */
const FIRST_DECLARATION_MS = 2_000;

/** Buried messages kept for inspection; the oldest go first. */
const DEAD_QUEUE_LENGTH = 100_000;

export interface TopologyOptions {
  /** Put before every name, so that several installations can share a broker. */
  readonly namePrefix?: string;
  readonly retryDelaysMs?: readonly number[];
}

/** The names of everything the system declares on the broker. */
export interface Topology {
  /** Direct exchange; the routing key of a job is `<modality>.<model>`, with its service tier behind it. */
  readonly jobsExchange: string;
  readonly deadExchange: string;
  readonly deadQueue: string;
  readonly retryDelaysMs: readonly number[];
  /** The queue of one routing key. */
  jobQueue(routingKey: string): string;
  /** Fanout exchange and queue of one retry delay share this name. */
  retryQueue(delayMs: number): string;
  /** First declaration of each job queue by this process, by the queue's name. */
  readonly declared: Map<string, Promise<unknown>>;
}

export function createTopology(options: TopologyOptions = {}): Topology {
  const prefix = options.namePrefix ?? "";
  return {
    jobsExchange: `${prefix}jobs`,
    deadExchange: `${prefix}jobs.dead`,
    deadQueue: `${prefix}jobs.dead`,
    retryDelaysMs: [...(options.retryDelaysMs ?? RETRY_DELAYS_MS)].toSorted((a, b) => a - b),
    jobQueue: (routingKey) => `${prefix}jobs.${routingKey}`,
    retryQueue: (delayMs) => `${prefix}jobs.retry.${delayMs}ms`,
    declared: new Map(),
  };
}

/** In the order in which their jobs are taken. */
export function tiersOf({ serviceTiers = ["default"] }: ConsumeOptions): readonly ServiceTier[] {
  return SERVICE_TIERS.filter((tier) => serviceTiers.includes(tier));
}

/** Whether jobs of a queue give their places to priority jobs. */
export function isPreemptible({ preemptible = [] }: ConsumeOptions, queueKey: string): boolean {
  return preemptible.some((key) => keyOfTier(key, "flex") === queueKey);
}

/** The shortest retry delay that is not below the one asked for, else the longest there is. */
export function pickRetryDelayMs(delaysMs: readonly number[], askedMs: number): number {
  return delaysMs.find((delayMs) => delayMs >= askedMs) ?? delaysMs.at(-1) ?? 0;
}

/** Declares what all routing keys share. Idempotent. */
export async function assertTopology(channel: Channel, topology: Topology): Promise<void> {
  await channel.assertExchange(topology.jobsExchange, "direct", { durable: true });
  await channel.assertExchange(topology.deadExchange, "fanout", { durable: true });
  await channel.assertQueue(topology.deadQueue, deadQueueOptions());
  await channel.bindQueue(topology.deadQueue, topology.deadExchange, "");
  for (const delayMs of topology.retryDelaysMs) {
    const name = topology.retryQueue(delayMs);
    await channel.assertExchange(name, "fanout", { durable: true });
    await channel.assertQueue(name, retryQueueOptions(topology, delayMs));
    await channel.bindQueue(name, name, "");
  }
}

interface Found {
  readonly ready: number;
  readonly consumers: number;
}

/**
 * Declares the queue of one routing key and says what is in it. Idempotent. Channels of one process
 * wait for the first declaration: RabbitMQ (3.10.8, and 4.x by github.com/wagslane/go-rabbitmq/issues/200)
 * calls a quorum queue declared before it has a leader, and whoever consumes from it then loses the
 * whole connection (541).
 */
export async function assertJobQueue(
  channel: Channel,
  topology: Topology,
  routingKey: string,
): Promise<Found> {
  const { declared } = topology;
  const name = topology.jobQueue(routingKey);
  const first = declared.get(name);
  if (first !== undefined) {
    // A first declaration that failed or takes long is no reason not to try.
    await withDeadline(first, FIRST_DECLARATION_MS, `declaring ${name}`).catch(() => undefined);
    return await declareJobQueue(channel, topology, routingKey);
  }
  const declaring = declareJobQueue(channel, topology, routingKey);
  declared.set(name, declaring);
  declaring.catch(() => declared.delete(name));
  return await declaring;
}

async function declareJobQueue(
  channel: Channel,
  topology: Topology,
  routingKey: string,
): Promise<Found> {
  const name = topology.jobQueue(routingKey);
  const found = await channel.assertQueue(name, jobQueueOptions(topology));
  await channel.bindQueue(name, topology.jobsExchange, routingKey);
  return { ready: found.messageCount, consumers: found.consumerCount };
}

function jobQueueOptions(topology: Topology): Options.AssertQueue {
  return {
    durable: true,
    arguments: {
      "x-queue-type": "quorum",
      "x-delivery-limit": DELIVERY_LIMIT,
      "x-dead-letter-exchange": topology.deadExchange,
      ...AT_LEAST_ONCE,
    },
  };
}

/** No dead-letter routing key: an expired message keeps its own and so finds its queue again. */
function retryQueueOptions(topology: Topology, delayMs: number): Options.AssertQueue {
  return {
    durable: true,
    arguments: {
      "x-queue-type": "quorum",
      "x-message-ttl": delayMs,
      "x-dead-letter-exchange": topology.jobsExchange,
      ...AT_LEAST_ONCE,
    },
  };
}

/** Dead-lettering with confirms; the broker demands `reject-publish` with it. */
const AT_LEAST_ONCE = {
  "x-dead-letter-strategy": "at-least-once",
  "x-overflow": "reject-publish",
} as const;

function deadQueueOptions(): Options.AssertQueue {
  return {
    durable: true,
    arguments: {
      "x-queue-type": "quorum",
      "x-max-length": DEAD_QUEUE_LENGTH,
      "x-overflow": "drop-head",
    },
  };
}
