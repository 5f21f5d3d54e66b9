import type { DeadLetters, DeadLetterSummary } from "./broker.js";
import { createHash } from "node:crypto";
import type { ConfirmChannel, GetMessage } from "amqplib";
import { JobError, messageOf } from "../core/errors.js";
import { decodeJob, type MessageFormat, type MessageSigner, signatureOf } from "./message.js";
import type { Publisher } from "./publisher.js";
import type { Topology } from "./topology.js";

/** What a summary is made of. */
export interface DeadMessage {
  readonly routingKey: string;
  readonly body: Buffer;
  readonly format: MessageFormat;
  readonly signature?: string | undefined;
  readonly reason: string;
  readonly diedAt: Date | null;
}

/** Messages that never left this process need no signer. */
export function summariseDeadLetter(
  message: DeadMessage,
  signer?: MessageSigner,
): DeadLetterSummary {
  const { routingKey, body, reason, diedAt } = message;
  return {
    id: idOf(message),
    routingKey,
    ...readJob(message, signer),
    reason,
    diedAt: diedAt?.toISOString() ?? null,
    byteLength: body.byteLength,
  };
}

/** Throws `invalid_value` for a message that no worker would take. */
function requireJob(message: DeadMessage, signer: MessageSigner): void {
  const { fault } = readJob(message, signer);
  if (fault !== null)
    throw new JobError("invalid_value", `a message that is no job cannot be replayed: ${fault}`);
}

/** Of its content, so that it needs no place in the message. */
export function idOf({ routingKey, body }: Pick<DeadMessage, "routingKey" | "body">): string {
  return createHash("sha256").update(`${routingKey}\n`).update(body).digest("hex").slice(0, 32);
}

function readJob({ routingKey, body, signature, format }: DeadMessage, signer?: MessageSigner) {
  try {
    signer?.verify(routingKey, body, signature);
    return { jobId: decodeJob(body, format).id, fault: null };
  } catch (error) {
    return { jobId: null, fault: messageOf(error) };
  }
}

const MOST_SCANNED = 1_000;
/**
 * A look is a delivery that comes back, and RabbitMQ 4 drops what came back 20 times from a queue
 * without a limit of its own: before that it is put there anew.
 */
const MOST_LOOKS = 10;

export interface DeadLettersOptions {
  readonly topology: Topology;
  readonly publisher: Publisher;
  readonly signer: MessageSigner;
  /** A confirm channel of a connection that consumes nothing else. */
  readonly openChannel: () => Promise<ConfirmChannel>;
}

/** Looks at RabbitMQ's dead-letter queue, one look at a time. */
export function createDeadLetters({
  topology,
  publisher,
  signer,
  openChannel,
}: DeadLettersOptions): DeadLetters {
  const look = oneAtATime(openChannel);
  const take = async (id: string, use: (message: DeadMessage) => Promise<void>) =>
    await look(async (channel) => {
      const messages = await takeMessages(channel, topology, MOST_SCANNED);
      const found = messages.find((message) => idOf(toDeadMessage(message)) === id);
      if (found === undefined) return false;
      await use(toDeadMessage(found));
      channel.ack(found);
      return true;
    });
  return {
    list: async (limit) =>
      await look(async (channel) => {
        const messages = await takeMessages(channel, topology, limit);
        for (const message of messages) await renew(channel, topology, message);
        return messages.map((message) => summariseDeadLetter(toDeadMessage(message), signer));
      }),
    replay: async (id) =>
      await take(id, async (message) => {
        requireJob(message, signer);
        const { routingKey, body, signature } = message;
        await publisher.publish(routingKey, { body, signature });
      }),
    drop: async (id) => await take(id, async () => undefined),
  };
}

/** What was looked at and not settled goes back, however the look ends. */
function oneAtATime(openChannel: () => Promise<ConfirmChannel>) {
  let last: Promise<unknown> = Promise.resolve();
  return async <T>(work: (channel: ConfirmChannel) => Promise<T>): Promise<T> => {
    const mine = last.then(async () => {
      const channel = await openChannel();
      try {
        return await work(channel);
      } finally {
        channel.nackAll(true);
      }
    });
    last = mine.catch(() => undefined);
    return await mine;
  };
}

/** The oldest messages, unsettled. */
async function takeMessages(
  channel: ConfirmChannel,
  { deadQueue }: Topology,
  limit: number,
): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  while (messages.length < Math.min(limit, MOST_SCANNED)) {
    const message = await channel.get(deadQueue);
    if (message === false) break;
    messages.push(message);
  }
  return messages;
}

/** The copy is confirmed before the original goes: a crash between doubles, never loses. */
async function renew(
  channel: ConfirmChannel,
  { deadExchange }: Topology,
  message: GetMessage,
): Promise<void> {
  const { headers = {}, ...properties } = message.properties;
  const { "x-delivery-count": looks, ...others } = headers;
  if (!(Number(looks) >= MOST_LOOKS)) return;
  await new Promise<void>((resolve, reject) => {
    const kept = { ...properties, headers: others, persistent: true };
    channel.publish(deadExchange, message.fields.routingKey, message.content, kept, (error) =>
      error === null ? resolve() : reject(new Error("the broker refused it", { cause: error })),
    );
  });
  channel.ack(message);
}

function toDeadMessage({ content, fields, properties }: GetMessage): DeadMessage {
  const [death] = properties.headers?.["x-death"] ?? [];
  return {
    routingKey: fields.routingKey,
    body: content,
    format: properties,
    signature: signatureOf({ properties }),
    reason: death?.reason ?? "unknown",
    diedAt: death === undefined ? null : new Date(death.time.value * 1_000),
  };
}
