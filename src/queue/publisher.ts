import type { ConfirmChannel } from "amqplib";
import { JobError } from "../core/errors.js";
import type { BrokerEvent } from "./broker.js";
import { keepChannel, keepConnection } from "./amqp-link.js";
import { type OutgoingMessage, PublishSession } from "./publish-session.js";
import { assertTopology, pickRetryDelayMs, type Topology } from "./topology.js";

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

/** Remembers whether the broker blocks publishers (memory or disk alarm) and tells who waits. */
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
