/** What was opened, to be closed in the opposite order. */
export interface Closers {
  /** Closed before what was added earlier. */
  add(close: () => unknown): void;
  /** Closes everything once, whatever fails on the way; then rejects with the first failure. */
  close(): Promise<void>;
}

export function createClosers(): Closers {
  const opened: (() => unknown)[] = [];
  return {
    add: (close) => void opened.push(close),
    async close() {
      const failures: unknown[] = [];
      for (const close of opened.splice(0).toReversed()) {
        try {
          await close();
        } catch (thrown) {
          failures.push(thrown);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
