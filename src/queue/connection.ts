import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Channel, type ChannelModel, connect } from "amqplib";
import pRetry from "p-retry";
import { orAbort, withDeadline } from "../core/async/deadline.js";
import type { BrokerEvent } from "./broker.js";

interface KeepOpenOptions<T> {
  /** Opens the resource; `lost` is to be called when it is gone. */
  open(lost: (cause: Error) => void, signal: AbortSignal): Promise<T>;
  /** Lets go of a resource, lost or not. Must not throw. */
  dispose(resource: T): Promise<void>;
  readonly onOpen: () => void;
  readonly onLost: (cause: Error) => void;
  readonly onOpenFailed: (cause: Error) => void;
}

/** A resource that is opened again whenever it is lost. */
export interface KeptOpen<T> {
  /** Undefined while it is away. */
  readonly current: T | undefined;
  /** Waits until it stands. Rejects when `signal` aborts or after `close`. */
  get(signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/** First and longest wait between two attempts to open, in milliseconds. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;
/** Spread over which the clients of a broker that came back start, in milliseconds. */
const JITTER_MS = 200;

/** Keeps one resource open until `close`, with back-off and jitter. */
function keepOpen<T>(options: KeepOpenOptions<T>): KeptOpen<T> {
  const stop = new AbortController();
  // Every publish that waits for a channel listens.
  setMaxListeners(0, stop.signal);
  const waiting = new Set<(resource: T) => void>();
  let current: T | undefined;

  async function openOnce() {
    let markLost: (cause: Error) => void = () => undefined;
    const lost = new Promise<Error>((resolve) => (markLost = resolve));
    return { resource: await options.open(markLost, stop.signal), lost };
  }

  async function live(): Promise<void> {
    const { resource, lost } = await pRetry(openOnce, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: FIRST_DELAY_MS,
      maxTimeout: LONGEST_DELAY_MS,
      randomize: true,
      signal: stop.signal,
      onFailedAttempt: ({ error }) => options.onOpenFailed(error),
    });
    if (!stop.signal.aborted) {
      current = resource;
      options.onOpen();
      for (const take of waiting) take(resource);
    }
    const cause = await orAbort(lost, stop.signal).catch(() => undefined);
    current = undefined;
    if (cause !== undefined) options.onLost(cause);
    await options.dispose(resource);
  }

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      // Causes went to onOpenFailed; what arrives here is the stop, or an error p-retry never retries.
      await live().catch(() => undefined);
      const pause = sleep(Math.random() * JITTER_MS, undefined, { signal: stop.signal });
      await pause.catch(() => undefined);
    }
  }

  const kept = keep();
  return {
    get current() {
      return current;
    },
    async get(signal) {
      if (current !== undefined) return current;
      let take: (resource: T) => void = () => undefined;
      const opened = new Promise<T>((resolve) => waiting.add((take = resolve)));
      return await orAbort(opened, signal, stop.signal).finally(() => waiting.delete(take));
    },
    async close() {
      stop.abort(new Error("closed"));
      await kept;
    },
  };
}

/** A dead peer is noticed after two to three of these. */
const HEARTBEAT_SECONDS = 5;
/** Longest wait for a new channel, in milliseconds. */
const OPEN_TIMEOUT_MS = 2_000;
/** Longest wait for all declarations on a new channel, in milliseconds. */
const SETUP_TIMEOUT_MS = 15_000;
/** Longest wait for a broker's goodbye, in ms: amqplib has no end to it when the socket dies meanwhile. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Longest wait for TCP, TLS and the AMQP handshake together, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in the broker's list of connections. */
  readonly name: string;
  readonly onEvent: (event: BrokerEvent) => void;
  readonly onBlocked?: (reason: string) => void;
  readonly onUnblocked?: () => void;
}

/** One connection that comes back by itself. */
export function keepConnection(options: ConnectionOptions): KeptOpen<ChannelModel> {
  const { name, onEvent } = options;
  return keepOpen<ChannelModel>({
    open: (lost) => openConnection(options, lost),
    dispose: (connection) =>
      withDeadline(connection.close(), CLOSE_TIMEOUT_MS, "closing").catch(() => undefined),
    onOpen: () => onEvent({ type: "connection-open", connection: name }),
    onLost: (cause) => onEvent({ type: "connection-lost", connection: name, cause }),
    onOpenFailed: (cause) => onEvent({ type: "connection-failed", connection: name, cause }),
  });
}

async function openConnection(
  options: ConnectionOptions,
  lost: (cause: Error) => void,
): Promise<ChannelModel> {
  const connecting = connect(withHeartbeat(options.url), {
    // Without it Nagle's algorithm makes a confirm take 45 ms instead of 1.
    noDelay: true,
    timeout: CONNECT_TIMEOUT_MS,
    clientProperties: { connection_name: options.name },
  });
  const connection = await withDeadline(connecting, 2 * CONNECT_TIMEOUT_MS, "connecting").catch(
    (error: unknown) => {
      void connecting.then((opened) => opened.close()).catch(() => undefined); // nobody waits for it
      throw error;
    },
  );
  // The close event, which always follows, carries the same error.
  connection.on("error", () => undefined);
  connection.on("close", (cause) => lost(cause ?? new Error("the broker closed the connection")));
  connection.on("blocked", (reason) => options.onBlocked?.(reason));
  connection.on("unblocked", () => options.onUnblocked?.());
  return connection;
}

function withHeartbeat(url: string): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has("heartbeat"))
    parsed.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return parsed.href;
}

/** The life of one channel. */
export interface ChannelLife {
  /** Aborts with the channel. */
  readonly lost: AbortSignal;
  /** Gives the channel up for another. Does not wait for the broker, which may be what is stuck. */
  end(cause: Error): void;
}

export interface ChannelOptions<C extends Channel, S> {
  readonly connection: KeptOpen<ChannelModel>;
  readonly name: string;
  readonly onEvent: (event: BrokerEvent) => void;
  create(connection: ChannelModel): Promise<C>;
  /** Runs on every new channel before anyone gets it. */
  setup(channel: C, life: ChannelLife): Promise<S>;
}

/** One channel on a kept connection, opened again when either of them is lost. */
export function keepChannel<C extends Channel, S>(options: ChannelOptions<C, S>): KeptOpen<S> {
  const { name, onEvent } = options;
  const channels = new Map<S, C>();
  return keepOpen<S>({
    async open(lost, signal) {
      const connection = await options.connection.get(signal);
      // amqplib leaves a channel that is just opening without answer when its connection dies.
      const gone = new AbortController();
      const abort = () => gone.abort(new Error("the connection was lost"));
      connection.once("close", abort);
      const creating = withDeadline(options.create(connection), OPEN_TIMEOUT_MS, "opening");
      try {
        const channel = await orAbort(creating, gone.signal, signal);
        const session = await orAbort(setUp(options, channel, lost), gone.signal, signal);
        channels.set(session, channel);
        return session;
      } finally {
        connection.off("close", abort);
      }
    },
    async dispose(session) {
      const closing = channels.get(session)?.close();
      channels.delete(session);
      await withDeadline(closing ?? Promise.resolve(), CLOSE_TIMEOUT_MS, "closing").catch(
        () => undefined,
      );
    },
    onOpen: () => onEvent({ type: "channel-open", connection: name }),
    onLost: (cause) => onEvent({ type: "channel-lost", connection: name, cause }),
    onOpenFailed: (cause) => onEvent({ type: "channel-failed", connection: name, cause }),
  });
}

async function setUp<C extends Channel, S>(
  options: ChannelOptions<C, S>,
  channel: C,
  lost: (cause: Error) => void,
): Promise<S> {
  const gone = new AbortController();
  // Every publish and delivery in flight listens.
  setMaxListeners(0, gone.signal);
  let reason = new Error("the channel was closed");
  const markGone = (cause: Error) => {
    gone.abort(cause);
    lost(cause);
  };
  const end = (cause: Error) => {
    markGone(cause);
    void channel.close().catch(() => undefined); // closed already is as good
  };
  channel.on("error", (error) => {
    reason = error;
  });
  channel.on("close", () => markGone(reason));
  try {
    const setup = options.setup(channel, { lost: gone.signal, end });
    return await withDeadline(setup, SETUP_TIMEOUT_MS, "declaring");
  } catch (error) {
    end(reason);
    throw error;
  }
}
