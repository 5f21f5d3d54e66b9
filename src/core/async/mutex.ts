import { orAbort } from "./deadline.js";

/** Lets one at a time enter, first come, first served. */
export interface Mutex {
  /** Resolves to the function that leaves it, to be called once or more. Rejects where `signal` aborts first. */
  enter(signal?: AbortSignal): Promise<() => void>;
}

export function createMutex(): Mutex {
  let last = Promise.resolve();
  return {
    async enter(signal) {
      const before = last;
      let leave = () => {};
      const left = new Promise<void>((resolve) => (leave = resolve));
      last = before.then(() => left);
      try {
        await (signal === undefined ? before : orAbort(before, signal));
        return leave;
      } catch (thrown) {
        leave();
        throw thrown;
      }
    },
  };
}
