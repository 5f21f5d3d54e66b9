/** Work that is done every so often, and at once when somebody asks. */
export interface PeriodicTask {
  /** Runs now, or once more right after the run in progress. */
  readonly wake: () => void;
  /** Resolves when the run in progress has ended; none follows. */
  readonly stop: () => Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly intervalMs: number;
  readonly run: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Never runs twice at the same time; a failed run is reported and the next one comes anyway. */
export function every({ intervalMs, run, onError }: PeriodicTaskOptions): PeriodicTask {
  let stopped = false;
  let isDue = false;
  let running: Promise<void> | undefined;
  const runAll = async (): Promise<void> => {
    while (isDue && !stopped) {
      isDue = false;
      try {
        await run();
      } catch (error) {
        onError(error);
      }
    }
  };
  const wake = (): void => {
    isDue = true;
    running ??= runAll().finally(() => {
      running = undefined;
      if (isDue && !stopped) wake();
    });
  };
  const timer = setInterval(wake, intervalMs);
  wake();
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
