/** Work that is done every so often, and at once when somebody asks. */
export interface PeriodicTask {
  /** Runs now, or once more right after the run in progress. */
  readonly wake: () => void;
  /** There may be something to do: the interval is the shortest again. */
  readonly stir: () => void;
  /** Resolves when the run in progress has ended; none follows. */
  readonly stop: () => Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly intervalMs: number;
  /** Longest interval, which doubles while a run resolves to `idle`: it found nothing to do. */
  readonly restMs?: number;
  readonly run: () => Promise<"idle" | void>;
  readonly onError: (error: unknown) => void;
}

/** Never runs twice at the same time; a failed run is reported and the next one comes anyway. */
export function every({
  intervalMs,
  restMs = intervalMs,
  run,
  onError,
}: PeriodicTaskOptions): PeriodicTask {
  let stopped = false;
  let isDue = false;
  let running: Promise<void> | undefined;
  let waitMs = intervalMs;
  let timer: NodeJS.Timeout | undefined;
  const runAll = async (): Promise<void> => {
    while (isDue && !stopped) {
      isDue = false;
      try {
        waitMs = (await run()) === "idle" ? Math.min(2 * waitMs, restMs) : intervalMs;
      } catch (error) {
        onError(error);
      }
    }
  };
  const wait = (): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(wake, waitMs);
  };
  const wake = (): void => {
    isDue = true;
    running ??= runAll().finally(() => {
      running = undefined;
      if (isDue && !stopped) wake();
      else wait();
    });
  };
  wake();
  return {
    wake,
    stir() {
      if (waitMs === intervalMs) return;
      waitMs = intervalMs;
      if (running === undefined) wait();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
