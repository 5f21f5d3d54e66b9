import { randomStream } from "../inference/text/random.js";

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
