/** One reading for all who ask within `freshMs` of its beginning; a failed one is tried again. */
export function cached<T>(freshMs: number, read: () => Promise<T>): () => Promise<T> {
  let begunAtMs = -Infinity;
  let reading: Promise<T> | undefined;
  return async () => {
    if (reading === undefined || performance.now() - begunAtMs > freshMs) {
      begunAtMs = performance.now();
      const own = read();
      reading = own;
      own.catch(() => {
        if (reading === own) reading = undefined;
      });
    }
    return await reading;
  };
}
