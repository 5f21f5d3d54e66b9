import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Logger } from "pino";

/** Unsubscribes. */
export type StopListening = () => Promise<void>;

export interface ListenOptions {
  readonly connectionString: string;
  /** A plain SQL identifier. */
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  readonly log: Logger;
}

const RECONNECT_MS = 500;

/** Keeps one connection on `LISTEN`, reconnecting for as long as it is wanted. */
export function listenOnPostgres(options: ListenOptions): StopListening {
  const stop = new AbortController();
  const listening = keepListening(options, stop.signal);
  return async () => {
    stop.abort();
    await listening;
  };
}

async function keepListening(options: ListenOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await listenOnce(options, signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      options.log.warn({ message }, "notifications interrupted, polling until they are back");
      // An aborted sleep means nobody listens any more.
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Resolves when aborted, rejects when the connection is lost. */
async function listenOnce(options: ListenOptions, signal: AbortSignal): Promise<void> {
  const client = new Client({ connectionString: options.connectionString, keepAlive: true });
  const ended = new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    client.on("error", reject);
    client.on("end", () => reject(new Error("connection ended")));
  });
  client.on("notification", ({ payload }) => options.onPayload(payload ?? ""));
  try {
    await Promise.race([client.connect(), ended]);
    await Promise.race([client.query(`LISTEN ${options.channel}`), ended]);
    await ended;
  } finally {
    ended.catch(() => undefined);
    await client.end().catch(() => undefined);
  }
}
