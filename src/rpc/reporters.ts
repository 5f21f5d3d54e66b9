import type { GrpcReporter } from "./reporter.js";

/** Connections to the fronts that have callers, opened when first used. */
export interface Reporters {
  /** The front at this address. */
  at(address: string): GrpcReporter;
  close(): Promise<void>;
}

/** Fronts come and go; a connection that was not used for this long is closed, in milliseconds. */
const IDLE_MS = 600_000;
const CHECK_MS = 60_000;

interface Opened {
  readonly reporter: GrpcReporter;
  usedAtMs: number;
}

/** A job that runs asks for its connection at every heartbeat: an idle one has none. */
export function createReporters(open: (address: string) => GrpcReporter): Reporters {
  const opened = new Map<string, Opened>();
  const closeIdle = () => {
    for (const [address, { reporter, usedAtMs }] of opened) {
      if (performance.now() - usedAtMs < IDLE_MS) continue;
      opened.delete(address);
      void reporter.close(); // Nothing of it is awaited by anyone.
    }
  };
  const timer = setInterval(closeIdle, CHECK_MS).unref();
  return {
    at(address) {
      const known = opened.get(address) ?? { reporter: open(address), usedAtMs: 0 };
      known.usedAtMs = performance.now();
      opened.set(address, known);
      return known.reporter;
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...opened.values()].map(({ reporter }) => reporter.close()));
    },
  };
}
