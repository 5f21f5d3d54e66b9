import type { Channel, ChannelModel, GetMessage, Message } from "amqplib";
import pRetry from "p-retry";
import { withDeadline } from "../core/async/deadline.js";
import type { Job } from "../core/job.js";
import type {
  BrokerEvent,
  ConsumeOptions,
  DeliveryHandler,
  Retry,
  Settlement,
  Subscription,
} from "./broker.js";
import { type ChannelLife, keepChannel, type KeptOpen } from "./connection.js";
import { decodeJob, type MessageSigner, signatureOf } from "./message.js";
import { PUBLISHED_AT_MS, type Publisher, UNANSWERED } from "./publisher.js";
import { assertJobQueue, HANDLER_FAILED_DELAY_MS, type Topology } from "./topology.js";

export interface ConsumerOptions {
  /** A connection that never publishes: an alarm must not hold back its acknowledgements. */
  readonly connection: KeptOpen<ChannelModel>;
  readonly name: string;
  readonly topology: Topology;
  /** Carries deliveries to the retry queues. */
  readonly publisher: Publisher;
  /** Tells the fronts' messages from others'. */
  readonly signer: MessageSigner;
  readonly onEvent: (event: BrokerEvent) => void;
}

/** How long a retry that cannot be published is tried before the message is returned instead. */
const PUBLISH_RETRY_MS = 30_000;

/** One delivery on its way through this process. */
interface Parcel {
  readonly message: Message;
  readonly routingKey: string;
  readonly channel: Channel;
  readonly lost: AbortSignal;
}

/** Takes deliveries for as long as the subscription lives, over any number of channels. */
export function startConsumer(
  options: ConsumerOptions,
  { routingKeys, prefetch: capacity, priority = 0 }: ConsumeOptions,
  handler: DeliveryHandler,
): Subscription {
  const inFlight = new Set<Promise<void>>();
  let stopped = false;
  let taken = routingKeys;

  const intakes = keepChannel<Channel, Intake>({
    ...options,
    create: (connection) => connection.createChannel(),
    async setup(channel, life) {
      const take = (message: Message, routingKey: string) =>
        track(
          inFlight,
          deliver(options, handler, { message, routingKey, channel, lost: life.lost }),
        );
      const { topology } = options;
      const intake = new Intake({
        channel,
        topology,
        routingKeys,
        taken: () => taken,
        capacity,
        priority,
        life,
        take,
      });
      const openedWith = taken;
      if (!stopped) await intake.open();
      // It may have been limited while it opened.
      if (openedWith !== taken) await intake.follow();
      return intake;
    },
  });

  return {
    get consuming() {
      return !stopped && intakes.current !== undefined;
    },
    limitTo(allowed) {
      taken = routingKeys.filter((key) => allowed.includes(key));
      void intakes.current?.follow(); // errors end in the intake
    },
    async stop() {
      stopped = true;
      await intakes.current?.stop();
      while (inFlight.size > 0) await Promise.all(inFlight);
      await intakes.close();
    },
  };
}

function track(inFlight: Set<Promise<void>>, work: Promise<void>): Promise<void> {
  const tracked = work.finally(() => inFlight.delete(tracked));
  inFlight.add(tracked);
  return tracked;
}

/** Reads, handles and settles one delivery. Never throws. */
async function deliver(
  options: ConsumerOptions,
  handler: DeliveryHandler,
  parcel: Parcel,
): Promise<void> {
  const job = read(options, parcel);
  if (job === null) return settle(parcel, { type: "reject" });
  try {
    const settlement = await handle(options, handler, { job, parcel });
    if (settlement.type === "retry") await sendToRetry(options, { ...parcel, job }, settlement);
    settle(parcel, settlement.type === "retry" ? { type: "ack" } : settlement);
  } catch (cause) {
    options.onEvent({ type: "settlement-failed", jobId: job.id, cause });
    settle(parcel, { type: "return" });
  }
}

/** Nothing of a message is believed, not even parsed, before its signature is. */
function read({ signer, onEvent }: ConsumerOptions, parcel: Parcel): Job | null {
  const { message, routingKey } = parcel;
  try {
    signer.verify(routingKey, message.content, signatureOf(message));
    return decodeJob(message.content, message.properties);
  } catch (error) {
    const cause = error instanceof Error ? error : new Error(String(error));
    onEvent({ type: "message-corrupted", routingKey, cause });
    return null;
  }
}

async function handle(
  { onEvent }: ConsumerOptions,
  handler: DeliveryHandler,
  { job, parcel }: { readonly job: Job; readonly parcel: Parcel },
): Promise<Settlement> {
  const { fields, properties } = parcel.message;
  const { redelivered } = fields;
  const publishedAtMs: unknown = properties.headers?.[PUBLISHED_AT_MS];
  const unanswered: unknown = properties.headers?.[UNANSWERED];
  const sent = {
    ...(typeof publishedAtMs === "number" && { publishedAtMs }),
    ...(typeof unanswered === "number" && { unanswered }),
  };
  try {
    return await handler({ job, redelivered, signal: parcel.lost, ...sent });
  } catch (cause) {
    onEvent({ type: "handler-failed", jobId: job.id, cause });
    return { type: "retry", delayMs: HANDLER_FAILED_DELAY_MS };
  }
}

/** Publishes the copy before the original is acknowledged: a crash between doubles, never loses. */
async function sendToRetry(
  { publisher }: ConsumerOptions,
  { message, routingKey, lost, job }: Parcel & { readonly job: Job },
  { delayMs, unanswered }: Retry,
): Promise<void> {
  if (lost.aborted) return;
  const copy = {
    body: message.content,
    signature: signatureOf(message),
    traceparent: job.traceparent,
    unanswered,
  };
  await pRetry(() => publisher.publishLater(routingKey, copy, delayMs), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 500,
    maxTimeout: 5_000,
    randomize: true,
    maxRetryTime: PUBLISH_RETRY_MS,
    signal: lost,
  });
}

/** On a lost channel there is nothing to settle: the broker has the message back. */
function settle({ channel, message, lost }: Parcel, { type }: Settlement): void {
  if (lost.aborted) return;
  try {
    if (type === "ack") channel.ack(message);
    else channel.reject(message, type === "return");
  } catch {
    // The channel closed meanwhile.
  }
}

interface IntakeOptions {
  readonly channel: Channel;
  readonly topology: Topology;
  readonly routingKeys: readonly string[];
  /** Messages held at once, over all routing keys. */
  readonly capacity: number;
  /** Those of the routing keys to take work from now. */
  readonly taken: () => readonly string[];
  /** RabbitMQ's consumer priority. */
  readonly priority: number;
  readonly life: ChannelLife;
  /** Takes one message to its settlement. Must not throw. */
  take(message: Message, routingKey: string): Promise<void>;
}

/**
 * Longest wait for the broker's answer to a consume, in milliseconds. A quorum queue without a leader
 * never answers, nor says why: seen on RabbitMQ 3.10.8 with a queue that was declared less than a
 * second before the broker was killed. Better to fail and say so.
 */
const CONSUME_TIMEOUT_MS = 2_000;

/** How often an idle intake looks whether it is idle with reason, in milliseconds. */
const WATCH_INTERVAL_MS = 5_000;

/**
 * How messages come in during the life of one channel. Quorum queues know no prefetch shared by
 * several consumers, so with several routing keys the consumers are cancelled while all places are
 * taken, and a free place is filled by asking the queues in turn before listening again. Otherwise a
 * full worker would hold messages that an idle one could run.
 */
class Intake {
  readonly #options: IntakeOptions;
  /** Consumer tags by routing key; empty while not listening. */
  readonly #tags = new Map<string, string>();
  #running = 0;
  #turn = 0;
  #stopped = false;
  #wasStuck = false;
  /** Whether consumers come and go with free places: for several routing keys, and once it was limited. */
  #isShared: boolean;
  /** The broker's answers are awaited one change at a time. */
  #changes: Promise<void> = Promise.resolve();

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#isShared = options.routingKeys.length > 1 || options.taken().length === 0;
  }

  async open(): Promise<void> {
    const { channel, topology, routingKeys } = this.#options;
    for (const key of routingKeys) await assertJobQueue(channel, topology, key);
    await this.#refill();
    const timer = setInterval(() => void this.#change(() => this.#watch()), WATCH_INTERVAL_MS);
    timer.unref();
    this.#options.life.lost.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Follows a change of the routing keys to take work from. */
  async follow(): Promise<void> {
    this.#isShared = true;
    await this.#change(async () => {
      await this.#cancelAll();
      await this.#refill();
    });
  }

  /** Takes no more messages. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#change(() => this.#cancelAll());
  }

  async #refill(): Promise<void> {
    if (this.#isShared)
      while (!this.#stopped && this.#running < this.#options.capacity)
        if (!(await this.#pull())) break;
    if (!this.#stopped && this.#running < this.#options.capacity) await this.#listen();
  }

  /** Fetches one message from the next queue that has any. */
  async #pull(): Promise<boolean> {
    const { channel, topology } = this.#options;
    const taken = this.#options.taken();
    for (let step = 0; step < taken.length; step++) {
      const key = taken[this.#turn++ % taken.length] ?? "";
      const { ready } = await assertJobQueue(channel, topology, key);
      if (ready === 0) continue;
      const message: GetMessage | false = await channel.get(topology.jobQueue(key));
      if (message === false) continue;
      this.#arrive(message, key);
      return true;
    }
    return false;
  }

  async #listen(): Promise<void> {
    const { channel, capacity } = this.#options;
    await channel.prefetch(capacity - this.#running);
    for (const key of this.#options.taken()) if (!this.#tags.has(key)) await this.#consume(key);
  }

  async #consume(key: string): Promise<void> {
    const { channel, topology, life, priority } = this.#options;
    const take = (message: Message | null) => {
      if (message !== null) this.#arrive(message, key);
      // The broker cancelled the consumer: its queue was deleted. A new channel declares it again.
      else life.end(new Error(`the broker cancelled the consumer of ${key}`));
    };
    const consuming = channel.consume(topology.jobQueue(key), take, { priority });
    const { consumerTag } = await withDeadline(consuming, CONSUME_TIMEOUT_MS, `consuming ${key}`);
    this.#tags.set(key, consumerTag);
  }

  /**
   * When a queue is deleted and declared again by somebody within about 20 ms, RabbitMQ (3.10.8)
   * cancels no consumer, but its channel drops the new queue's first deliveries as repetitions of the
   * old one's. Two looks in a row that find work or no consumer, while nothing runs, tell; a new
   * channel gets everything.
   */
  async #watch(): Promise<void> {
    if (this.#stopped || this.#running > 0 || this.#tags.size === 0) return;
    const wasStuck = this.#wasStuck;
    this.#wasStuck = await this.#isStuck();
    if (wasStuck && this.#wasStuck && this.#running === 0)
      this.#options.life.end(new Error("deliveries do not arrive"));
  }

  async #isStuck(): Promise<boolean> {
    const { channel, topology } = this.#options;
    for (const key of this.#options.taken()) {
      const { ready, consumers } = await assertJobQueue(channel, topology, key);
      if (ready > 0 || consumers === 0) return true;
    }
    return false;
  }

  #arrive(message: Message, key: string): void {
    const isTaken = !this.#stopped && this.#options.taken().includes(key);
    if (!isTaken || this.#running >= this.#options.capacity)
      return this.#options.channel.nack(message, false, true);
    this.#running++;
    if (this.#full()) void this.#change(() => this.#pause()); // errors end in #change
    void this.#options.take(message, key).then(() => this.#release()); // take does not throw
  }

  #release(): void {
    this.#running--;
    if (this.#isShared && !this.#stopped) void this.#change(() => this.#resume()); // errors end in #change
  }

  #full(): boolean {
    return this.#isShared && this.#running >= this.#options.capacity;
  }

  async #pause(): Promise<void> {
    if (this.#full()) await this.#cancelAll();
  }

  async #resume(): Promise<void> {
    if (this.#tags.size === 0) await this.#refill();
  }

  async #cancelAll(): Promise<void> {
    for (const [key, tag] of this.#tags) {
      this.#tags.delete(key);
      await this.#options.channel.cancel(tag);
    }
  }

  /** A change that fails ends the channel: it is opened again from the start. */
  #change(work: () => Promise<void>): Promise<void> {
    this.#changes = this.#changes
      .then(work)
      .catch((error: unknown) =>
        this.#options.life.end(error instanceof Error ? error : new Error(String(error))),
      );
    return this.#changes;
  }
}
