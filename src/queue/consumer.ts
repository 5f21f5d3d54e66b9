import type { Channel, ChannelModel, Message } from "amqplib";
import pRetry from "p-retry";
import type { Job } from "../core/job.js";
import { keepChannel } from "./amqp-link.js";
import type {
  BrokerEvent,
  ConsumeOptions,
  DeliveryHandler,
  Retry,
  Settlement,
  Subscription,
} from "./broker.js";
import { decodeJob } from "./codec.js";
import { Intake } from "./intake.js";
import type { KeptOpen } from "./keep-open.js";
import { type MessageSigner, SIGNATURE } from "./message-signer.js";
import { PUBLISHED_AT_MS, UNANSWERED } from "./publish-session.js";
import type { Publisher } from "./publisher.js";
import { HANDLER_FAILED_DELAY_MS, type Topology } from "./topology.js";

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
      const wanted = { routingKeys, taken: () => taken, capacity, priority };
      const intake = new Intake({ channel, topology, ...wanted, life, take });
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
    limitTo(wanted) {
      taken = routingKeys.filter((key) => wanted.includes(key));
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
  const signature = signatureOf(message);
  const copy = {
    body: message.content,
    signature: typeof signature === "string" ? signature : undefined,
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

function signatureOf({ properties }: Message): unknown {
  return properties.headers?.[SIGNATURE];
}

/** On a lost channel there is nothing to settle: the broker has the message back. */
function settle({ channel, message, lost }: Parcel, { type }: Settlement): void {
  if (lost.aborted) return;
  try {
    if (type === "ack") channel.ack(message);
    else channel.reject(message, type === "return");
  } catch {
    // The channel closed under our hands.
  }
}
