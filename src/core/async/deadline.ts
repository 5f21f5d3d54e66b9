/** Settles like `work`, or rejects after `timeoutMs`. The work itself goes on. */
export async function withDeadline<T>(
  work: Promise<T>,
  timeoutMs: number,
  what: string,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    const error = new Error(`${what}: no answer within ${timeoutMs} ms`);
    timer = setTimeout(() => reject(error), timeoutMs);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like `work`, unless one of the signals aborts before. */
export function orAbort<T>(work: Promise<T>, ...signals: readonly AbortSignal[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => settle(() => reject(signals.find((signal) => signal.aborted)?.reason));
    const settle = (finish: () => void) => {
      for (const signal of signals) signal.removeEventListener("abort", stop);
      finish();
    };
    for (const signal of signals) signal.addEventListener("abort", stop, { once: true });
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
    if (signals.some((signal) => signal.aborted)) stop();
  });
}
