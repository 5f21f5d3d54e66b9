import { once } from "node:events";
import { constants } from "node:os";
import { type Closers, createClosers } from "../core/closers.js";

/** A signal stopped the process during its start. */
class ShutdownError extends Error {
  override readonly name = "ShutdownError";
}

/** What forgot to close keeps a process that has ended for no longer, in milliseconds. */
const LINGER_MS = 3_000;

/**
 * Starts a service, and closes what `start` adds at SIGTERM or SIGINT. That may come in the middle of
 * the start, which gets a signal of it. A second SIGTERM or SIGINT ends the process at once, with 128
 * and the signal's number.
 */
export async function runUntilShutdown(
  start: (closers: Closers, shutdown: AbortSignal) => Promise<void>,
): Promise<void> {
  const shutdown = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (shutdown.signal.aborted) process.exit(128 + constants.signals[signal]);
      shutdown.abort(new ShutdownError(`stopped by ${signal}`));
    });
  }
  // What it and its children write is for its owner alone.
  process.umask(0o077);
  const closers = createClosers();
  try {
    await start(closers, shutdown.signal);
    if (!shutdown.signal.aborted) await once(shutdown.signal, "abort");
  } catch (thrown) {
    if (!(thrown instanceof ShutdownError)) throw thrown;
  } finally {
    await closers.close();
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/** Runs `work` with a signal that Ctrl-C aborts; the second one ends the process at once. */
export async function untilInterrupted<T>(
  sentence: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error(sentence));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    return await work(stop.signal);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}
