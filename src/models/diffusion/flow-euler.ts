import { shiftLevel } from "./schedulers/levels.js";

/**
 * Noise levels of rectified flow, from 1 to 0, `steps + 1` of them, moved towards noise by `shift`
 * (Esser et al. 2024, "Scaling Rectified Flow Transformers", section 5.3.2).
 */
export function flowSigmas(steps: number, shift: number): number[] {
  return Array.from({ length: steps + 1 }, (_, index) => shiftLevel(1 - index / steps, shift));
}

/** One Euler step in place: `sample += (next − now) × velocity`. */
export function eulerStep(sample: Float32Array, velocity: Float32Array, stepSize: number): void {
  for (let index = 0; index < sample.length; index++) {
    sample[index] = (sample[index] ?? 0) + stepSize * (velocity[index] ?? 0);
  }
}

/**
 * Classifier-free guidance (Ho & Salimans 2022) over a batch of two: conditional then unconditional,
 * each `velocity.length / 2` values.
 */
export function guide(velocity: Float32Array, guidance: number): Float32Array {
  const half = velocity.length / 2;
  const guided = new Float32Array(half);
  for (let index = 0; index < half; index++) {
    const free = velocity[half + index] ?? 0;
    guided[index] = free + guidance * ((velocity[index] ?? 0) - free);
  }
  return guided;
}
