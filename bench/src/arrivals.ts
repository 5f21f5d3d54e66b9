import { randomStream } from "../../src/models/sampling/noise.js";

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
