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

const MULTIPLIER_0 = 0xd251_1f53;
const MULTIPLIER_1 = 0xcd9e_8d57;
const WEYL_0 = 0x9e37_79b9;
const WEYL_1 = 0xbb67_ae85;
const ROUNDS = 10;

/** Draws by position instead of by history: draw `step` of one stream is always the same number. */
export interface RandomStream {
  /** Uniform in [0, 1), 53 bits. */
  at(step: number): number;
}

/** Philox 4×32-10 (Salmon et al., SC 2011) keyed by the seed; the counter is step and stream. */
export function randomStream(seed: number, stream: number): RandomStream {
  const key = BigInt.asUintN(64, BigInt(Math.trunc(seed)));
  const key0 = Number(key & 0xffff_ffffn);
  const key1 = Number(key >> 32n);
  const block = new Uint32Array(4);
  return {
    at(step) {
      block[0] = step;
      block[1] = stream;
      block[2] = 0;
      block[3] = 0;
      philox(block, key0, key1);
      const high = (block[0] ?? 0) >>> 5;
      const low = (block[1] ?? 0) >>> 6;
      return (high * 2 ** 26 + low) / 2 ** 53;
    },
  };
}

/** Replaces a counter [4] by its random block. */
export function philox(block: Uint32Array, key0: number, key1: number): void {
  let [c0 = 0, c1 = 0, c2 = 0, c3 = 0] = block;
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < ROUNDS; round += 1) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1 >>> 0;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0 >>> 0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  block[0] = c0;
  block[1] = c1;
  block[2] = c2;
  block[3] = c3;
}

/** The upper 32 bits of the product of two unsigned 32-bit integers, by halves of 16 bits. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const cross = aHigh * bLow + ((aLow * bLow) >>> 16);
  const middle = aLow * bHigh + (cross % 0x1_0000);
  return (aHigh * bHigh + Math.floor(cross / 0x1_0000) + Math.floor(middle / 0x1_0000)) >>> 0;
}
