import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../src/core/errors.js";
import { randomStream } from "../../../src/models/sampling/noise.js";

/**
 * Sends request `index` and waits for its end. Rejects with `Refused` where the service asked to come
 * again later, and with anything else where the request failed.
 */
export type Send = (index: number, signal: AbortSignal) => Promise<unknown>;

/** A service said "not now" (429, 503): it is full, not broken. */
export class Refused extends Error {}

/** `unended`: given up when the loop's signal aborted. */
export type End = "answered" | "refused" | "failed" | "unended";

/** What became of one request. */
export interface Outcome {
  /** From when it should have been sent to its end, or until it was given up. */
  readonly latencyMs: number;
  readonly end: End;
  /** Why it was not answered. */
  readonly reason?: string;
}

export interface Drive {
  readonly outcomes: readonly Outcome[];
  /** From the first request's time to the last one's end. */
  readonly seconds: number;
}

export interface ClosedLoop {
  readonly clients: number;
  /** Most requests; no limit where absent. */
  readonly count?: number;
  /** Nothing is sent any more after so long; what was sent is waited for. No limit where absent. */
  readonly windowMs?: number;
}

/** Clients that each send their next request when the last one has ended. */
export async function closedLoop(
  send: Send,
  { clients, count = Infinity, windowMs = Infinity }: ClosedLoop,
  signal: AbortSignal,
): Promise<Drive> {
  const startedAt = performance.now();
  const outcomes: Outcome[] = [];
  let sent = 0;
  const client = async () => {
    while (sent < count && performance.now() - startedAt < windowMs && !signal.aborted) {
      const request = { index: sent++, dueAt: performance.now() };
      outcomes.push(await outcomeOf(send, request, signal));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { outcomes, seconds: (performance.now() - startedAt) / 1_000 };
}

/**
 * Requests at times that do not depend on the answers. A request that was sent late, because this
 * process or the service was busy, counts from when it was due: nothing slow is left out.
 */
export async function openLoop(
  send: Send,
  arrivalsMs: readonly number[],
  signal: AbortSignal,
): Promise<Drive> {
  const startedAt = performance.now();
  const outcomes = await Promise.all(
    arrivalsMs.map(async (arrivalMs, index) => {
      const dueAt = startedAt + arrivalMs;
      await sleep(Math.max(0, dueAt - performance.now()), undefined, { signal }).catch(() => {});
      return await outcomeOf(send, { index, dueAt }, signal);
    }),
  );
  return { outcomes, seconds: (performance.now() - startedAt) / 1_000 };
}

async function outcomeOf(
  send: Send,
  { index, dueAt }: { readonly index: number; readonly dueAt: number },
  signal: AbortSignal,
): Promise<Outcome> {
  const ended = await send(index, signal).then(
    () => ({ end: "answered" as const }),
    (thrown: unknown) => ({ end: endOf(thrown, signal), reason: messageOf(thrown) }),
  );
  return { latencyMs: performance.now() - dueAt, ...ended };
}

function endOf(thrown: unknown, signal: AbortSignal): End {
  if (thrown instanceof Refused) return "refused";
  return signal.aborted ? "unended" : "failed";
}

/**
 * Milliseconds from the start at which `count` independent requests arrive: a Poisson process, whose
 * gaps are exponential. The same for the same seed.
 */
export function poissonArrivals(perSecond: number, count: number, seed: number): number[] {
  const random = randomStream(seed, 0);
  let atMs = 0;
  return Array.from({ length: count }, (_, index) => {
    atMs += (-Math.log(1 - random.at(index)) / perSecond) * 1_000;
    return atMs;
  });
}

/**
 * The same process in a window of milliseconds of which it is known how many came: the rate's share of
 * it to the next whole number, at least one. Given their number, arrivals are uniform and independent
 * (Kingman, Poisson Processes, 2.4); so a short window offers the rate that it says.
 */
export function arrivalsWithin(perSecond: number, windowMs: number, seed: number): number[] {
  const random = randomStream(seed, 0);
  const count = Math.max(1, Math.round((perSecond * windowMs) / 1_000));
  return Array.from({ length: count }, (_, index) => random.at(index) * windowMs).toSorted(
    (a, b) => a - b,
  );
}
