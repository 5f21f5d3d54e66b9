import type { Subscription } from "../queue/index.js";

/** Taking jobs from the queue, which operators and the end of the process turn on and off. */
export interface Intake {
  /** Rejects where the queue cannot be consumed. */
  open(): Promise<void>;
  /** Takes no more jobs; resolves when those in hand have ended. */
  close(): Promise<void>;
  /** Takes jobs of these routing keys only, from now on; those in hand go on. */
  limitTo(routingKeys: readonly string[]): void;
}

/** One turn after the other: what is closing is closed before it opens again. */
export function createIntake(subscribe: () => Promise<readonly Subscription[]>): Intake {
  let subscriptions: readonly Subscription[] = [];
  let limit: readonly string[] | undefined;
  let last: Promise<void> = Promise.resolve();
  const next = (turn: () => Promise<void>): Promise<void> => {
    last = last.catch(() => {}).then(turn);
    return last;
  };
  return {
    open: () =>
      next(async () => {
        if (subscriptions.length > 0) return;
        subscriptions = await subscribe();
        if (limit !== undefined) for (const one of subscriptions) one.limitTo(limit);
      }),
    close: () =>
      next(async () => {
        await Promise.all(subscriptions.map((subscription) => subscription.stop()));
        subscriptions = [];
      }),
    limitTo(routingKeys) {
      limit = routingKeys;
      for (const subscription of subscriptions) subscription.limitTo(limit);
    },
  };
}
