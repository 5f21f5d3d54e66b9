import * as fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import { countOf } from "../chaos/verdicts.js";

/** FUZZ_SEED tries other cases; a failing run prints the seed and the smallest case that fails. */
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
/** How much a process may hold after all cases beyond what it held after the first of them. */
const MOST_GROWTH_BYTES = 128 * 2 ** 20;
/** How long one case may take: everything is answered, and soon. */
const CASE_MS = 20_000;

export interface Campaign<Case> {
  readonly cases: fc.Arbitrary<Case>;
  readonly count: { readonly short: number; readonly full: number };
  /** Throws where the case shows a fault. */
  readonly check: (one: Case) => Promise<void>;
}

/** Runs the cases one after the other, then compares the memory that is held. */
export async function campaign<Case>({ cases, count, check }: Campaign<Case>): Promise<void> {
  const numRuns = countOf(count);
  const warmUp = Math.ceil(numRuns / 5);
  let ran = 0;
  let heldBytes = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(cases, async (one) => {
    if (ran++ === warmUp) heldBytes = residentBytes();
    await inTime(check(one));
  });
  await fc.assert(property, { numRuns, seed: SEED });
  expect(residentBytes() - heldBytes).toBeLessThan(MOST_GROWTH_BYTES);
}

/** Bytes in memory once what is unreachable has been collected. */
function residentBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage.rss();
}

/** Rejects where the work hangs. */
async function inTime(work: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const timeout = sleep(CASE_MS, undefined, { signal: timer.signal }).then(
    () => Promise.reject(new Error(`not answered within ${CASE_MS} ms`)),
    () => undefined,
  );
  try {
    await Promise.race([work, timeout]);
  } finally {
    timer.abort();
  }
}
