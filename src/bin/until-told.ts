import { once } from "node:events";
import { constants } from "node:os";
import { type Closers, createClosers } from "../core/closers.js";

/** The start was given up, since the process was told to stop. */
class Told extends Error {
  override readonly name = "Told";
}

/** What forgot to close keeps a process that has ended for no longer, in milliseconds. */
const LINGER_MS = 3_000;

/**
 * Starts a service, and closes what `start` adds at SIGTERM or SIGINT. That may come in the middle of
 * the start, which gets a signal of it. A second SIGTERM or SIGINT ends the process at once, with 128
 * and the signal's number.
 */
export async function untilTold(
  start: (closers: Closers, told: AbortSignal) => Promise<void>,
): Promise<void> {
  const told = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (told.signal.aborted) process.exit(128 + constants.signals[signal]);
      told.abort(new Told(`told to stop by ${signal}`));
    });
  }
  // What it and its children write is for its owner alone.
  process.umask(0o077);
  const closers = createClosers();
  try {
    await start(closers, told.signal);
    if (!told.signal.aborted) await once(told.signal, "abort");
  } catch (thrown) {
    if (!(thrown instanceof Told)) throw thrown;
  } finally {
    await closers.close();
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}
