import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";

export interface KeepOpenOptions<T> {
  /** Opens the resource; `lost` is to be called when it is gone. */
  open(lost: (cause: Error) => void, signal: AbortSignal): Promise<T>;
  /** Lets go of a resource, lost or not. Must not throw. */
  dispose(resource: T): Promise<void>;
  readonly onOpen?: () => void;
  readonly onLost?: (cause: Error) => void;
  readonly onOpenFailed?: (cause: Error) => void;
}

/** A resource that is opened again whenever it is lost. */
export interface KeptOpen<T> {
  /** Undefined while it is away. */
  readonly current: T | undefined;
  /** Waits until it stands. Rejects when `signal` aborts or after `close`. */
  get(signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

interface Opened<T> {
  readonly resource: T;
  readonly lost: Promise<Error>;
}

interface Waiter<T> {
  resolve(resource: T): void;
  reject(reason: unknown): void;
}

/** First and longest wait between two attempts to open, in milliseconds. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;
/** Spread over which the clients of a broker that came back start, in milliseconds. */
const JITTER_MS = 200;

/** Keeps one resource open until `close`, with back-off and jitter. */
export function keepOpen<T>(options: KeepOpenOptions<T>): KeptOpen<T> {
  const stop = new AbortController();
  const stopped = new Promise<undefined>((resolve) =>
    stop.signal.addEventListener("abort", () => resolve(undefined), { once: true }),
  );
  const waiters = new Set<Waiter<T>>();
  let current: T | undefined;

  async function live(): Promise<void> {
    const { resource, lost } = await openWithRetry(options, stop.signal);
    if (!stop.signal.aborted) {
      current = resource;
      options.onOpen?.();
      for (const waiter of waiters) waiter.resolve(resource);
    }
    const cause = await Promise.race([lost, stopped]);
    current = undefined;
    if (cause !== undefined) options.onLost?.(cause);
    await options.dispose(resource);
  }

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      // Causes went to onOpenFailed; what arrives here is the stop, or an error p-retry never retries.
      await live().catch(() => undefined);
      await sleep(Math.random() * JITTER_MS, undefined, { signal: stop.signal }).catch(
        () => undefined,
      );
    }
  }

  const kept = keep();
  return {
    get current() {
      return current;
    },
    async get(signal) {
      if (current !== undefined) return current;
      stop.signal.throwIfAborted();
      return await waitIn(waiters, signal);
    },
    async close() {
      stop.abort(new Error("closed"));
      for (const waiter of waiters) waiter.reject(stop.signal.reason);
      await kept;
    },
  };
}

function openWithRetry<T>(options: KeepOpenOptions<T>, signal: AbortSignal): Promise<Opened<T>> {
  return pRetry(() => openOnce(options, signal), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: FIRST_DELAY_MS,
    maxTimeout: LONGEST_DELAY_MS,
    randomize: true,
    signal,
    onFailedAttempt: ({ error }) => options.onOpenFailed?.(error),
  });
}

async function openOnce<T>(options: KeepOpenOptions<T>, signal: AbortSignal): Promise<Opened<T>> {
  let markLost: (cause: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => {
    markLost = resolve;
  });
  return { resource: await options.open(markLost, signal), lost };
}

function waitIn<T>(waiters: Set<Waiter<T>>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => waiter.reject(signal.reason);
    const forget = () => {
      waiters.delete(waiter);
      signal.removeEventListener("abort", abort);
    };
    const waiter: Waiter<T> = {
      resolve: (resource) => (forget(), resolve(resource)),
      reject: (reason) => (forget(), reject(reason)),
    };
    if (signal.aborted) return reject(signal.reason);
    waiters.add(waiter);
    signal.addEventListener("abort", abort, { once: true });
  });
}
