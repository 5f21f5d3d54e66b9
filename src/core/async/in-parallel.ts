/** Runs `work` for each item, so many at once; the first failure stops the others and is thrown. */
export async function inParallel<T>(
  items: Iterable<T>,
  signal: AbortSignal | undefined,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  atOnce = 4,
): Promise<void> {
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const waiting = [...items];
  const take = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      either.throwIfAborted();
      await work(item, either);
    }
  };
  const takers = Array.from({ length: atOnce }, () =>
    take().catch((thrown: unknown) => failed.abort(thrown)),
  );
  await Promise.all(takers);
  signal?.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}
