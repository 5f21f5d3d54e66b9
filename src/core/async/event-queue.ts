/** A queue from callbacks to one `for await`: push, then end or fail once. */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => {};

  get ended(): boolean {
    return this.#ended;
  }

  push(item: T): void {
    if (this.#ended) return;
    this.#items.push(item);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The first failure wins; items pushed before it are still delivered. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#error = error;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      yield* this.#items.splice(0);
      if (this.#items.length > 0) continue;
      if (this.#ended) break;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#error) throw this.#error;
  }
}
