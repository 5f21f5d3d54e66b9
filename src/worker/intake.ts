import type { Subscription } from "../queue/broker.js";

/** Taking jobs from the queue, which operators and the end of the process turn on and off. */
export interface Intake {
  /** Rejects where the queue cannot be consumed. */
  open(): Promise<void>;
  /** Takes no more jobs; resolves when those in hand have ended. */
  close(): Promise<void>;
}

/** One turn after the other: what is closing is closed before it opens again. */
export function createIntake(subscribe: () => Promise<readonly Subscription[]>): Intake {
  let subscriptions: readonly Subscription[] = [];
  let last: Promise<void> = Promise.resolve();
  const next = (turn: () => Promise<void>): Promise<void> => {
    last = last.catch(() => {}).then(turn);
    return last;
  };
  return {
    open: () =>
      next(async () => {
        if (subscriptions.length === 0) subscriptions = await subscribe();
      }),
    close: () =>
      next(async () => {
        await Promise.all(subscriptions.map((subscription) => subscription.stop()));
        subscriptions = [];
      }),
  };
}
