import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConfirmChannel, Message, Options } from "amqplib";
import { unixMs } from "../core/clock.js";
import { CONTENT_TYPE, MESSAGE_TYPE } from "./codec.js";
import { orAbort } from "../core/async/deadline.js";
import { SIGNATURE } from "./message-signer.js";
import { assertJobQueue, type Topology } from "./topology.js";

/**
 * How long a deleted queue stays undeclared, in milliseconds: RabbitMQ tells its consumers after about
 * 25 ms, but not when the queue is back by then (see intake.ts).
 */
const REDECLARE_DELAY_MS = 250;

/** Header of a traced message: when it was sent, in Unix milliseconds. */
export const PUBLISHED_AT_MS = "framemill-published-at-ms";

/** Header of a retry: tries in succession in which no front answered. */
export const UNANSWERED = "framemill-unanswered";

export interface OutgoingMessage {
  readonly body: Buffer;
  /** Of whoever wrote it first; undefined for a message that came without one. */
  readonly signature: string | undefined;
  /** W3C trace context, for whoever follows the message. */
  readonly traceparent?: string | undefined;
  readonly unanswered?: number | undefined;
}

/** The life of one confirm channel. */
export class PublishSession {
  readonly #channel: ConfirmChannel;
  readonly #topology: Topology;
  readonly #lost: AbortSignal;
  /** Queues known to exist, by routing key. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Messages waiting for their confirm, by correlation id: whether the broker returned them. */
  readonly #returned = new Map<string, boolean>();

  constructor(channel: ConfirmChannel, topology: Topology, lost: AbortSignal) {
    this.#channel = channel;
    this.#topology = topology;
    this.#lost = lost;
    // The broker sends the return before the confirm of the same message.
    channel.on("return", (message: Message) => {
      const id = String(message.properties.correlationId);
      if (this.#returned.has(id)) this.#returned.set(id, true);
    });
  }

  /** A queue somebody deleted is declared again, once. */
  async publishJob(
    routingKey: string,
    message: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const exchange = this.#topology.jobsExchange;
    await orAbort(this.#assertQueue(routingKey), signal, this.#lost);
    try {
      await this.send(exchange, routingKey, message, signal);
    } catch (error) {
      if (!(error instanceof UnroutableError)) throw error;
      this.#queues.delete(routingKey);
      await sleep(REDECLARE_DELAY_MS);
      await orAbort(this.#assertQueue(routingKey), signal, this.#lost);
      await this.send(exchange, routingKey, message, signal);
    }
  }

  async send(
    exchange: string,
    routingKey: string,
    message: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const id = randomUUID();
    this.#returned.set(id, false);
    try {
      await orAbort(this.#confirmed(exchange, routingKey, message, id), signal, this.#lost);
      if (this.#returned.get(id) === true)
        throw new UnroutableError(`no queue takes ${routingKey} of exchange ${exchange}`);
    } finally {
      this.#returned.delete(id);
    }
  }

  #confirmed(
    exchange: string,
    routingKey: string,
    { body, signature, traceparent, unanswered }: OutgoingMessage,
    id: string,
  ): Promise<void> {
    const properties: Options.Publish = {
      persistent: true,
      mandatory: true,
      contentType: CONTENT_TYPE,
      type: MESSAGE_TYPE,
      correlationId: id,
      headers: {
        ...(signature !== undefined && { [SIGNATURE]: signature }),
        // The property `timestamp` counts seconds: too few for a wait.
        ...(traceparent !== undefined && { traceparent, [PUBLISHED_AT_MS]: unixMs() }),
        ...(unanswered !== undefined && { [UNANSWERED]: unanswered }),
      },
    };
    return new Promise((resolve, reject) => {
      this.#channel.publish(exchange, routingKey, body, properties, (error) =>
        error === null ? resolve() : reject(new Error("the broker refused it", { cause: error })),
      );
    });
  }

  #assertQueue(routingKey: string): Promise<unknown> {
    const known = this.#queues.get(routingKey);
    if (known !== undefined) return known;
    const asserted = assertJobQueue(this.#channel, this.#topology, routingKey);
    this.#queues.set(routingKey, asserted);
    asserted.catch(() => this.#queues.delete(routingKey));
    return asserted;
  }
}

class UnroutableError extends Error {}
