import type { Job } from "../core/job.js";
import type { ServiceTier } from "../core/service-tier.js";

/** Publishes a copy with a delay, confirmed, then acknowledges. */
export interface Retry {
  readonly type: "retry";
  readonly delayMs: number;
  /** Tries in succession, this one included, in which no front answered; 0 where absent. */
  readonly unanswered?: number;
}

/** What becomes of a delivery. */
export type Settlement =
  | { readonly type: "ack" }
  | Retry
  /** To the dead-letter queue: a message that no attempt can help. */
  | { readonly type: "reject" }
  /** Back to the head of the queue, for another consumer (drain). */
  | { readonly type: "return" };

export interface Delivery {
  readonly job: Job;
  readonly redelivered: boolean;
  /** Tries in succession before this one in which no front answered; 0 where absent. */
  readonly unanswered?: number;
  /** When the message was last published, in Unix milliseconds; absent where nothing is traced. */
  readonly publishedAtMs?: number;
  /** Aborts when the channel is lost: the message will come again elsewhere. */
  readonly signal: AbortSignal;
}

export type DeliveryHandler = (delivery: Delivery) => Promise<Settlement>;

export interface ConsumeOptions {
  /** Routing keys to take work from, e.g. `video.service-motion-1`. */
  readonly routingKeys: readonly string[];
  /**
   * Whose jobs are taken, of these routing keys; `default` alone where absent. Of jobs that wait, one of
   * another service tier is taken only where none of an earlier one in `SERVICE_TIERS` waits.
   */
  readonly serviceTiers?: readonly ServiceTier[];
  /** Jobs in flight = unacknowledged messages. */
  readonly prefetch: number;
  /**
   * Routing keys whose flex jobs give their places away: as many priority jobs are taken beyond the
   * prefetch, where no free place of another consumer takes them. The handler ends the flex jobs.
   */
  readonly preemptible?: readonly string[];
  /** Free places of a higher priority are filled first, over all workers; 0 where absent. */
  readonly priority?: number;
}

export interface Subscription {
  /** From now on takes work from those of its routing keys only; what is in flight goes on. */
  limitTo(routingKeys: readonly string[]): void;
  /** Takes no more deliveries; resolves when those in flight are settled. */
  stop(): Promise<void>;
  /** Whether deliveries can arrive now. */
  readonly consuming: boolean;
}

export interface QueueDepth {
  readonly ready: number;
  readonly consumers: number;
}

/** What an operator wants to read in the log or count; nothing depends on it. */
export type BrokerEvent =
  | { readonly type: "connection-open" | "channel-open"; readonly connection: string }
  | {
      readonly type: "connection-lost" | "connection-failed" | "channel-lost" | "channel-failed";
      readonly connection: string;
      readonly cause: Error;
    }
  /** The broker takes no messages for lack of memory or disk. */
  | { readonly type: "blocked"; readonly reason: string }
  | { readonly type: "unblocked" }
  /** The message went to the dead-letter queue. */
  | { readonly type: "message-corrupted"; readonly routingKey: string; readonly cause: Error }
  /** A handler threw; its delivery is retried. */
  | { readonly type: "handler-failed"; readonly jobId: string; readonly cause: unknown }
  /** The delivery could not be settled as asked and will come again. */
  | { readonly type: "settlement-failed"; readonly jobId: string; readonly cause: unknown };

/** A message that the broker has put aside, and why. */
export interface DeadLetterSummary {
  /** Of the message, the same at every look: 32 hexadecimal digits. */
  readonly id: string;
  readonly routingKey: string;
  /** Null where the message cannot be read. */
  readonly jobId: string | null;
  /** RabbitMQ's word: `rejected`, `delivery_limit`, `maxlen`, `expired`. */
  readonly reason: string;
  /** Why no worker takes it for a job; null where one would. */
  readonly fault: string | null;
  /** ISO 8601; null where the broker does not say. */
  readonly diedAt: string | null;
  readonly byteLength: number;
}

/** The dead-letter queue, for an operator. At most the 1 000 oldest messages are looked at. */
export interface DeadLetters {
  /** Oldest first; they stay where they are. */
  list(limit: number): Promise<DeadLetterSummary[]>;
  /** Puts a message back into its job queue; false where it is not there. Throws `invalid_value` for one that no worker would take. */
  replay(id: string): Promise<boolean>;
  /** Forgets a message; false where it is not there. */
  drop(id: string): Promise<boolean>;
}

/** A queue of jobs. RabbitMQ in production, in-process in embedded mode; one test suite for both. */
export interface Broker {
  /** What carries the messages, as OpenTelemetry names it. */
  readonly system: "rabbitmq" | "in_process";
  /**
   * Resolves when the broker has confirmed the message on the queue of its service tier. Rejects with
   * `JobError` `service_unavailable` when it has not (outage, alarm, unroutable, `signal` aborted).
   */
  publish(routingKey: string, job: Job, options?: { readonly signal?: AbortSignal }): Promise<void>;
  consume(options: ConsumeOptions, handler: DeliveryHandler): Promise<Subscription>;
  depth(routingKey: string, serviceTier?: ServiceTier): Promise<QueueDepth>;
  /** What no delivery could help. */
  readonly deadLetters: DeadLetters;
  /**
   * Whether it takes messages. A connection that only consumes does not count: jobs wait in the queue
   * until it stands.
   */
  readonly connected: boolean;
  close(): Promise<void>;
}
