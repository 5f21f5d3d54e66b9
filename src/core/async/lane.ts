/** A stage that one job at a time goes through, in the order in which jobs asked for it. */
export interface Lane {
  /** Resolves to the function that leaves it, to be called once or more. Rejects where `signal` aborts first. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function createLane(): Lane {
  let last = Promise.resolve();
  return {
    async enter(signal) {
      const before = last;
      let leave = () => {};
      const left = new Promise<void>((resolve) => (leave = resolve));
      last = before.then(() => left);
      try {
        await orAborted(before, signal);
        return leave;
      } catch (thrown) {
        leave();
        throw thrown;
      }
    },
  };
}

async function orAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
