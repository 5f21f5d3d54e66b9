/** The next `length` standard normal values. */
export type NoiseSource = (length: number) => Float32Array;

/** Standard normal values from a seed: same seed, same values. */
export function gaussianNoise(seed: number, length: number): Float32Array {
  return createNoiseSource(seed)(length);
}

/**
 * Standard normal values in draws, by Box–Muller: same seed, same draws. The first `skipped` of them, an
 * even number, are left out at no cost.
 */
export function createNoiseSource(seed: number, skipped = 0): NoiseSource {
  const uniform = uniformSource(seed, skipped);
  return (length) => {
    const noise = new Float32Array(length);
    for (let index = 0; index < length; index += 2) {
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
      const angle = 2 * Math.PI * uniform();
      noise[index] = radius * Math.cos(angle);
      if (index + 1 < length) noise[index + 1] = radius * Math.sin(angle);
    }
    return noise;
  };
}

/**
 * Uniform values in [0, 1), 32 random bits each: a Weyl sequence through a 32-bit finaliser, whose first
 * `skipped` values are left out.
 */
export function uniformSource(seed: number, skipped = 0): () => number {
  const start = Math.trunc(seed) ^ Math.imul(Math.floor(seed / 2 ** 32), 0x85_eb_ca_6b);
  let state = (start + Math.imul(skipped, 0x9e_37_79_b9)) >>> 0;
  return () => {
    state = (state + 0x9e_37_79_b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21_f0_aa_ad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x73_5a_2d_97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
