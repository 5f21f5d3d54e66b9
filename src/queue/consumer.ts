import type { Channel, ChannelModel, GetMessage, Message } from "amqplib";
import pRetry from "p-retry";
import { withDeadline } from "../core/async/deadline.js";
import type { Job } from "../core/job.js";
import { keyOfTier } from "../core/service-tier.js";
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
import {
  assertJobQueue,
  HANDLER_FAILED_DELAY_MS,
  isPreemptible,
  tiersOf,
  type Topology,
} from "./topology.js";

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
  consume: ConsumeOptions,
  handler: DeliveryHandler,
): Subscription {
  const { routingKeys } = consume;
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
      const intake = new Intake({ channel, topology, consume, taken: () => taken, life, take });
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
  readonly consume: ConsumeOptions;
  /** Those of the routing keys to take work from now. */
  readonly taken: () => readonly string[];
  readonly life: ChannelLife;
  /** Takes one message to its settlement. Must not throw. */
  take(message: Message, queueKey: string): Promise<void>;
}

/** Which messages there are places for: any, priority jobs in the places of flex jobs, or none. */
type Openness = "any" | "priority" | "none";

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
 * several consumers, so with several queues the consumers are cancelled while all places are
 * taken, and a free place is filled by asking the queues in turn, those of an earlier service tier first,
 * before listening again. Otherwise a full worker would hold messages that an idle one could run.
 */
class Intake {
  readonly #options: IntakeOptions;
  /** Consumer tags by queue key; empty while not listening. */
  readonly #tags = new Map<string, string>();
  /** What the consumers of now are for. */
  #listensTo: Openness = "none";
  /** Messages that each of them may hold. */
  #prefetch = 0;
  #running = 0;
  /** Of those, jobs that give their places to priority jobs. */
  #preemptible = 0;
  #turn = 0;
  #stopped = false;
  #wasStuck = false;
  /** Whether consumers come and go with free places: for several queues, and once it was limited. */
  #isShared: boolean;
  /** The broker's answers are awaited one change at a time. */
  #changes: Promise<void> = Promise.resolve();

  constructor(options: IntakeOptions) {
    this.#options = options;
    const { routingKeys } = options.consume;
    const queues = routingKeys.length * tiersOf(options.consume).length;
    this.#isShared = queues > 1 || options.taken().length === 0;
  }

  async open(): Promise<void> {
    const { channel, topology, consume } = this.#options;
    for (const queueKey of this.#ranked(consume.routingKeys).flat())
      await assertJobQueue(channel, topology, queueKey);
    // A message that comes meanwhile changes nothing before the queues are listened to.
    const opening = this.#refill();
    this.#changes = opening.catch(() => {});
    await opening;
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

  /** Queue keys of these routing keys by service tier, the one that goes first at the front. */
  #ranked(routingKeys: readonly string[]): string[][] {
    return tiersOf(this.#options.consume).map((tier) =>
      routingKeys.map((key) => keyOfTier(key, tier)),
    );
  }

  /** Queue keys that messages may come from now. */
  #open(): string[][] {
    const ranked = this.#ranked(this.#options.taken());
    return this.#openness() === "any" ? ranked : ranked.slice(0, 1);
  }

  #openness(): Openness {
    const { prefetch, preemptible } = this.#options.consume;
    if (this.#stopped) return "none";
    if (this.#running < prefetch) return "any";
    if (preemptible === undefined || this.#running - this.#preemptible >= prefetch) return "none";
    return "priority";
  }

  async #refill(): Promise<void> {
    if (this.#isShared) while (this.#openness() !== "none") if (!(await this.#pull())) break;
    await this.#listen();
  }

  /** Fetches one message from the next queue that has any. */
  async #pull(): Promise<boolean> {
    const { channel, topology } = this.#options;
    for (const keys of this.#open())
      for (let step = 0; step < keys.length; step++) {
        const queueKey = keys[this.#turn++ % keys.length] ?? "";
        const { ready } = await assertJobQueue(channel, topology, queueKey);
        if (ready === 0) continue;
        const message: GetMessage | false = await channel.get(topology.jobQueue(queueKey));
        if (message === false) continue;
        this.#arrive(message, queueKey);
        return true;
      }
    return false;
  }

  async #listen(): Promise<void> {
    const { channel, consume } = this.#options;
    this.#listensTo = this.#openness();
    if (this.#listensTo === "none") return;
    const given = this.#listensTo === "priority" ? this.#preemptible : 0;
    this.#prefetch = consume.prefetch - this.#running + given;
    await channel.prefetch(this.#prefetch);
    for (const queueKey of this.#open().flat())
      if (!this.#tags.has(queueKey)) await this.#consume(queueKey);
  }

  async #consume(queueKey: string): Promise<void> {
    const { channel, topology, life, consume } = this.#options;
    const take = (message: Message | null) => {
      if (message !== null) this.#arrive(message, queueKey);
      // The broker cancelled the consumer: its queue was deleted. A new channel declares it again.
      else life.end(new Error(`the broker cancelled the consumer of ${queueKey}`));
    };
    // A worker with a free place goes before one whose flex job would have to leave.
    const priority = (consume.priority ?? 0) - (this.#listensTo === "priority" ? 1 : 0);
    const consuming = channel.consume(topology.jobQueue(queueKey), take, { priority });
    const { consumerTag } = await withDeadline(
      consuming,
      CONSUME_TIMEOUT_MS,
      `consuming ${queueKey}`,
    );
    this.#tags.set(queueKey, consumerTag);
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
    for (const queueKey of this.#open().flat()) {
      const { ready, consumers } = await assertJobQueue(channel, topology, queueKey);
      if (ready > 0 || consumers === 0) return true;
    }
    return false;
  }

  #arrive(message: Message, queueKey: string): void {
    if (!this.#open().flat().includes(queueKey) || this.#openness() === "none")
      return this.#options.channel.nack(message, false, true);
    const given = isPreemptible(this.#options.consume, queueKey) ? 1 : 0;
    this.#running++;
    this.#preemptible += given;
    this.#adapt();
    const release = () => {
      this.#running--;
      this.#preemptible -= given;
      this.#adapt();
    };
    void this.#options.take(message, queueKey).then(release); // take does not throw
  }

  /** Brings the consumers into line with the places that there are. */
  #adapt(): void {
    if (this.#isShared && this.#isOutOfLine())
      void this.#change(async () => {
        if (!this.#isOutOfLine()) return;
        await this.#cancelAll();
        await this.#refill();
      }); // errors end in #change
  }

  /** Consumers that listen with few places free would go on to hold few messages: they begin anew. */
  #isOutOfLine(): boolean {
    const openness = this.#openness();
    if (this.#stopped || openness !== this.#listensTo) return !this.#stopped;
    const places = this.#options.consume.prefetch - this.#running;
    return openness === "any" && places >= 2 * this.#prefetch;
  }

  async #cancelAll(): Promise<void> {
    this.#listensTo = "none";
    for (const [queueKey, tag] of this.#tags) {
      this.#tags.delete(queueKey);
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
