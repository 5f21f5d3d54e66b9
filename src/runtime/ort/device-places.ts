/** Who computes now, of the jobs that a device runs one at a time: callers' jobs at once, polled ones beside them. */
export interface DevicePlaces {
  /** A job whose caller is on the line begins; returns what ends it. */
  enterReplied(): () => void;
  enterPolled(): PolledPlace;
}

export interface PolledPlace {
  /**
   * Waits between two steps for as long as callers' jobs have its place, yielding every few seconds;
   * returns the milliseconds that it waited. Ends early where `signal` aborts.
   */
  giveWay(signal: AbortSignal): AsyncGenerator<void, number>;
  leave(): void;
}

/**
 * What a polled job waits for callers at most: this, and once more the time that it has worked. So the
 * longest of them takes twice its own time and half a minute, however many callers there are; its
 * deadline is JOB_TIMEOUT_MS, which waiting counts towards.
 */
export const MOST_WAIT_MS = 30_000;

/** Silence of a job that waits: far below any STALL_MS, in milliseconds. */
const SIGN_MS = 2_000;

/** Places of a device that runs `slots` jobs at once. */
export function createDevicePlaces(slots: number): DevicePlaces {
  let replied = 0;
  let polled: readonly PolledPlace[] = [];
  const waiting = new Set<() => void>();
  const lookAgain = () => {
    for (const look of waiting) look();
  };
  /** The oldest go on, in the share of the places that callers leave. */
  const mayWork = (place: PolledPlace) => {
    const share = Math.max(0, slots - replied) / slots;
    return polled.indexOf(place) < Math.ceil(polled.length * share);
  };
  const nextChange = (mostMs: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const look = () => {
        clearTimeout(timer);
        waiting.delete(look);
        signal.removeEventListener("abort", look);
        resolve();
      };
      const timer = setTimeout(look, mostMs);
      waiting.add(look);
      signal.addEventListener("abort", look, { once: true });
    });
  return {
    enterReplied() {
      replied += 1;
      return () => {
        replied -= 1;
        lookAgain();
      };
    },
    enterPolled() {
      const startedAt = performance.now();
      let waitedMs = 0;
      const place: PolledPlace = {
        async *giveWay(signal) {
          if (mayWork(place)) return 0;
          const since = performance.now();
          const workedMs = since - startedAt - waitedMs;
          const left = () => MOST_WAIT_MS + workedMs - waitedMs - (performance.now() - since);
          while (!mayWork(place) && !signal.aborted && left() > 0) {
            await nextChange(Math.min(left(), SIGN_MS), signal);
            if (!mayWork(place) && performance.now() - since >= SIGN_MS) yield;
          }
          const ms = performance.now() - since;
          waitedMs += ms;
          return ms;
        },
        leave() {
          polled = polled.filter((other) => other !== place);
          lookAgain();
        },
      };
      polled = [...polled, place];
      return place;
    },
  };
}
