/** Uniform, of unit variance: ±√3. */
const REACH = Math.sqrt(3);

/** White noise of two channels in windows that overlap by `contextSamples`; same seed, same noise. */
export interface NoiseSource {
  /** The next window with what comes before it [2, context + window]. */
  next(): Float32Array;
}

export function createNoise(
  seed: number,
  { windowSamples, contextSamples }: { windowSamples: number; contextSamples: number },
): NoiseSource {
  const length = contextSamples + windowSamples;
  const random = xorshift(seed);
  let last = Float32Array.from({ length: 2 * length }, random);
  let isFirst = true;
  return {
    next() {
      if (isFirst) {
        isFirst = false;
        return last;
      }
      const noise = new Float32Array(2 * length);
      for (const start of [0, length]) {
        noise.set(last.subarray(start + windowSamples, start + length), start);
        for (let at = start + contextSamples; at < start + length; at += 1) noise[at] = random();
      }
      last = noise;
      return noise;
    },
  };
}

/** 32 bits of state (Marsaglia 2003): cheap, and nothing but a hiss depends on it. */
function xorshift(seed: number): () => number {
  let state = (Math.trunc(seed) ^ 0x9e37_79b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return REACH * ((state >>> 0) / 2 ** 31 - 1);
  };
}
