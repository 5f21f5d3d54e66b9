import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConfirmChannel, Message, Options } from "amqplib";
import { orAbort } from "../core/async/deadline.js";
import { unixMs } from "../core/time.js";
import { JobError } from "../core/errors.js";
import type { BrokerEvent } from "./broker.js";
import { keepChannel, keepConnection } from "./connection.js";
import { CONTENT_TYPE, MESSAGE_TYPE, SIGNATURE } from "./message.js";
import { assertJobQueue, assertTopology, pickRetryDelayMs, type Topology } from "./topology.js";

export interface PublisherOptions {
  readonly url: string;
  readonly name: string;
  readonly topology: Topology;
  /** Longest wait for the broker's confirm, in milliseconds. */
  readonly publishTimeoutMs: number;
  readonly onEvent: (event: BrokerEvent) => void;
}

export interface Publisher {
  readonly connected: boolean;
  /** Resolves when the message is confirmed on the routing key's queue. */
  publish(routingKey: string, message: OutgoingMessage, signal?: AbortSignal): Promise<void>;
  /** Resolves when the message is confirmed on a retry queue. */
  publishLater(routingKey: string, message: OutgoingMessage, delayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What a caller of a request that could not be queued should wait, in seconds. */
const RETRY_AFTER_SECONDS = 2;

/** Publishes persistent, mandatory, confirmed messages on a connection of its own. */
export function createPublisher(options: PublisherOptions): Publisher {
  const { topology, onEvent } = options;
  const alarm = createAlarm(onEvent);
  const connection = keepConnection({
    ...options,
    onBlocked: (reason) => alarm.raise(reason),
    onUnblocked: () => alarm.clear(),
  });
  const sessions = keepChannel<ConfirmChannel, PublishSession>({
    connection,
    name: options.name,
    onEvent,
    create: (open) => open.createConfirmChannel(),
    async setup(channel, { lost }) {
      await assertTopology(channel, topology);
      // A fresh connection is not blocked until the broker says so.
      alarm.clear();
      return new PublishSession(channel, topology, lost);
    },
  });

  async function send(
    work: (session: PublishSession, signal: AbortSignal) => Promise<void>,
    callerSignal?: AbortSignal,
  ): Promise<void> {
    if (alarm.reason !== null) throw unavailable(`the broker is in an alarm: ${alarm.reason}`);
    const limit = createLimit(options.publishTimeoutMs, callerSignal);
    const forget = alarm.onRaise((reason) => limit.abort(`the broker is in an alarm: ${reason}`));
    try {
      await work(await sessions.get(limit.signal), limit.signal);
    } catch (error) {
      throw error instanceof JobError ? error : unavailable("the message was not confirmed", error);
    } finally {
      forget();
      limit.clear();
    }
  }

  return {
    get connected() {
      return sessions.current !== undefined && alarm.reason === null;
    },
    publish: (routingKey, message, signal) =>
      send((session, limit) => session.publishJob(routingKey, message, limit), signal),
    publishLater: (routingKey, message, delayMs) =>
      send((session, limit) => {
        const exchange = topology.retryQueue(pickRetryDelayMs(topology.retryDelaysMs, delayMs));
        return session.send(exchange, routingKey, message, limit);
      }),
    async close() {
      await sessions.close();
      await connection.close();
    },
  };
}

function unavailable(message: string, cause?: unknown): JobError {
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new JobError("service_unavailable", `queue unavailable: ${message}${reason}`, {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Remembers whether the broker blocks publishers (memory or disk alarm) and notifies those who wait. */
function createAlarm(onEvent: (event: BrokerEvent) => void) {
  const listeners = new Set<(reason: string) => void>();
  let reason: string | null = null;
  return {
    get reason() {
      return reason;
    },
    raise(text: string) {
      reason = text;
      onEvent({ type: "blocked", reason: text });
      for (const listener of listeners) listener(text);
    },
    clear() {
      if (reason === null) return;
      reason = null;
      onEvent({ type: "unblocked" });
    },
    onRaise(listener: (reason: string) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A signal for one publish: its deadline, the caller's wish, or an alarm, whichever comes first. */
function createLimit(timeoutMs: number, callerSignal: AbortSignal | undefined) {
  const controller = new AbortController();
  const abort = (message: string) => controller.abort(unavailable(message));
  const timer = setTimeout(() => abort(`no confirm within ${timeoutMs} ms`), timeoutMs);
  const cancelled = () => abort("the caller gave up");
  if (callerSignal?.aborted) cancelled();
  callerSignal?.addEventListener("abort", cancelled, { once: true });
  return {
    signal: controller.signal,
    abort,
    clear() {
      clearTimeout(timer);
      callerSignal?.removeEventListener("abort", cancelled);
    },
  };
}

/**
 * How long a deleted queue stays undeclared, in milliseconds: RabbitMQ notifies its consumers after about
 * 25 ms, but not when the queue is back by then (see consumer.ts).
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
  /** W3C trace context. */
  readonly traceparent?: string | undefined;
  readonly unanswered?: number | undefined;
}

/** The life of one confirm channel. */
class PublishSession {
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
