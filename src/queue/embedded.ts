import { setMaxListeners } from "node:events";
import { unixMs } from "../core/time.js";
import { JobError } from "../core/errors.js";
import { keyOfTier, type ServiceTier } from "../core/service-tier.js";
import type { Job } from "../core/job.js";
import type {
  Broker,
  BrokerEvent,
  ConsumeOptions,
  DeadLetters,
  DeliveryHandler,
  Retry,
  Settlement,
  Subscription,
} from "./broker.js";
import { CONTENT_TYPE, decodeJob, encodeJob, MESSAGE_TYPE } from "./message.js";
import { type DeadMessage, idOf, summariseDeadLetter } from "./dead-letters.js";
import {
  DELIVERY_LIMIT,
  HANDLER_FAILED_DELAY_MS,
  isPreemptible,
  pickRetryDelayMs,
  RETRY_DELAYS_MS,
  tiersOf,
} from "./topology.js";

const FORMAT = { contentType: CONTENT_TYPE, type: MESSAGE_TYPE };

export interface EmbeddedOptions {
  readonly retryDelaysMs?: readonly number[];
  readonly onEvent?: (event: BrokerEvent) => void;
}

interface StoredMessage {
  readonly routingKey: string;
  readonly body: Buffer;
  /** Unix milliseconds. */
  readonly publishedAtMs: number;
  /** Times it came back without being settled. */
  returns: number;
  readonly unanswered?: number;
}

type Outgoing = Pick<StoredMessage, "routingKey" | "body">;

interface Consumer {
  readonly options: ConsumeOptions;
  readonly handler: DeliveryHandler;
  readonly inFlight: Set<Promise<void>>;
  /** Aborts when the broker closes: to the handler, a lost channel. */
  readonly signal: AbortSignal;
  stopped: boolean;
  /** Those of its routing keys that it takes work from. */
  taken: readonly string[];
  /** Where the search for the next message starts, so that no routing key starves. */
  turn: number;
  /** Flex jobs in flight that give their places to priority jobs. */
  preemptible: number;
}

/**
 * The broker of embedded mode. Keeps nothing on disk: the job table is the truth, and the front's
 * janitor publishes again what a restart forgot.
 */
export function createEmbeddedBroker(options: EmbeddedOptions = {}): Broker {
  return new InProcessBroker(options);
}

class InProcessBroker implements Broker {
  readonly system = "in_process";
  /** Oldest first. */
  #dead: (DeadMessage & Outgoing)[] = [];
  readonly #retryDelaysMs: readonly number[];
  readonly #onEvent: (event: BrokerEvent) => void;
  readonly #queues = new Map<string, StoredMessage[]>();
  #consumers: Consumer[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #closed = new AbortController();

  constructor(options: EmbeddedOptions) {
    this.#retryDelaysMs = options.retryDelaysMs ?? RETRY_DELAYS_MS;
    this.#onEvent = options.onEvent ?? (() => undefined);
    // Every delivery in flight listens.
    setMaxListeners(0, this.#closed.signal);
  }

  get connected(): boolean {
    return !this.#closed.signal.aborted;
  }

  async publish(
    routingKey: string,
    job: Job,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const body = encodeJob(job);
    if (!this.connected || options.signal?.aborted === true)
      throw new JobError("service_unavailable", "queue unavailable: it is closed", {
        retryAfterSeconds: 2,
      });
    this.#enqueue({ routingKey: keyOfTier(routingKey, job.serviceTier), body });
  }

  async consume(options: ConsumeOptions, handler: DeliveryHandler): Promise<Subscription> {
    const signal = this.#closed.signal;
    const consumer: Consumer = {
      options,
      handler,
      inFlight: new Set(),
      signal,
      stopped: false,
      taken: options.routingKeys,
      turn: 0,
      preemptible: 0,
    };
    this.#consumers.push(consumer);
    this.#dispatchSoon();
    return {
      get consuming() {
        return !consumer.stopped && !signal.aborted;
      },
      limitTo: (routingKeys) => {
        consumer.taken = options.routingKeys.filter((key) => routingKeys.includes(key));
        this.#dispatchSoon();
      },
      stop: () => this.#stop(consumer),
    };
  }

  async depth(routingKey: string, serviceTier: ServiceTier = "default") {
    const consumers = this.#consumers.filter(
      ({ options }) =>
        options.routingKeys.includes(routingKey) && tiersOf(options).includes(serviceTier),
    );
    const { length: ready } = this.#queue(keyOfTier(routingKey, serviceTier));
    return { ready, consumers: consumers.length };
  }

  get deadLetters(): DeadLetters {
    const take = (id: string): Outgoing | undefined => {
      const found = this.#dead.find((message) => idOf(message) === id);
      this.#dead = this.#dead.filter((message) => message !== found);
      return found;
    };
    return {
      list: async (limit) =>
        this.#dead.slice(0, limit).map((message) => summariseDeadLetter(message)),
      replay: async (id) => {
        const found = take(id);
        if (found === undefined) return false;
        this.#enqueue(found);
        return true;
      },
      drop: async (id) => take(id) !== undefined,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => this.#stop(consumer)));
    this.#closed.abort(new Error("closed"));
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #stop(consumer: Consumer): Promise<void> {
    consumer.stopped = true;
    this.#consumers = this.#consumers.filter((other) => other !== consumer);
    while (consumer.inFlight.size > 0) await Promise.all(consumer.inFlight);
  }

  #enqueue({ routingKey, body }: Outgoing): void {
    this.#queue(routingKey).push({ routingKey, body, publishedAtMs: unixMs(), returns: 0 });
    this.#dispatchSoon();
  }

  #queue(routingKey: string): StoredMessage[] {
    const queue = this.#queues.get(routingKey) ?? [];
    this.#queues.set(routingKey, queue);
    return queue;
  }

  /** Never within the caller's turn: a publish returns before its delivery starts. */
  #dispatchSoon(): void {
    setImmediate(() => this.#dispatch());
  }

  /**
   * One message to each consumer with a free place, round after round, by priority; one whose flex job would
   * have to leave comes after those with a free place and its own priority.
   */
  #dispatch(): void {
    const priorities = this.#consumers.flatMap(({ options: { priority = 0 } }) => [
      priority,
      priority - 1,
    ]);
    for (const priority of [...new Set(priorities)].toSorted((a, b) => b - a)) {
      const of = (own: number) =>
        this.#consumers.filter(({ options }) => (options.priority ?? 0) === own);
      this.#deliverTo(of(priority), hasPlace, tiersOf);
      this.#deliverTo(of(priority + 1), isPreempting, () => ["priority"]);
    }
  }

  #deliverTo(
    consumers: readonly Consumer[],
    mayTake: (consumer: Consumer) => boolean,
    tiers: (options: ConsumeOptions) => readonly ServiceTier[],
  ): void {
    const deliverNext = (consumer: Consumer): boolean => {
      const message = mayTake(consumer) ? this.#next(consumer, tiers(consumer.options)) : undefined;
      if (message !== undefined) this.#start(consumer, message);
      return message !== undefined;
    };
    while (consumers.filter(deliverNext).length > 0);
  }

  #next(consumer: Consumer, tiers: readonly ServiceTier[]): StoredMessage | undefined {
    const { taken } = consumer;
    for (const tier of tiers)
      for (let step = 0; step < taken.length; step++) {
        const key = taken[consumer.turn++ % taken.length] ?? "";
        const message = this.#queue(keyOfTier(key, tier)).shift();
        if (message !== undefined) return message;
      }
    return undefined;
  }

  #start(consumer: Consumer, message: StoredMessage): void {
    const given = isPreemptible(consumer.options, message.routingKey) ? 1 : 0;
    consumer.preemptible += given;
    const delivery = this.#deliver(consumer, message).finally(() => {
      consumer.inFlight.delete(delivery);
      consumer.preemptible -= given;
      this.#dispatchSoon();
    });
    consumer.inFlight.add(delivery);
  }

  async #deliver(consumer: Consumer, message: StoredMessage): Promise<void> {
    const job = decodeJob(message.body, FORMAT);
    const { publishedAtMs, returns, unanswered = 0 } = message;
    const { signal } = consumer;
    const delivery = { job, redelivered: returns > 0, signal, publishedAtMs, unanswered };
    try {
      this.#settle(message, await consumer.handler(delivery));
    } catch (cause) {
      this.#onEvent({ type: "handler-failed", jobId: job.id, cause });
      this.#settle(message, { type: "retry", delayMs: HANDLER_FAILED_DELAY_MS });
    }
  }

  #settle(message: StoredMessage, settlement: Settlement): void {
    if (settlement.type === "reject") this.#bury(message, "rejected");
    if (settlement.type === "return") this.#takeBack(message);
    if (settlement.type === "retry") this.#deliverLater(message, settlement);
  }

  #bury({ routingKey, body }: StoredMessage, reason: string): void {
    this.#dead.push({ routingKey, body, format: FORMAT, reason, diedAt: new Date() });
  }

  #takeBack(message: StoredMessage): void {
    message.returns++;
    if (message.returns > DELIVERY_LIMIT) this.#bury(message, "delivery_limit");
    else this.#queue(message.routingKey).unshift(message);
  }

  #deliverLater({ routingKey, body }: StoredMessage, { delayMs, unanswered = 0 }: Retry): void {
    const publishedAtMs = unixMs();
    const message = { routingKey, body, publishedAtMs, returns: 0, unanswered };
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#queue(routingKey).push(message);
        this.#dispatch();
      },
      pickRetryDelayMs(this.#retryDelaysMs, delayMs),
    );
    this.#timers.add(timer);
  }
}

function hasPlace({ inFlight, options }: Consumer): boolean {
  return inFlight.size < options.prefetch;
}

/** Whether it takes a priority job in the place of a flex job. */
function isPreempting({ inFlight, preemptible, options }: Consumer): boolean {
  return preemptible > 0 && inFlight.size - preemptible < options.prefetch;
}
