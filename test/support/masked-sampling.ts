import type { TokenMask } from "#framemill/models/decoder/request/request.js";

/** Small and exact: a linear congruential generator (Numerical Recipes). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface MaskedText {
  readonly ids: readonly number[];
  readonly isComplete: boolean;
}

/** Tokens drawn evenly from what a mask allows, until the answer is whole. */
export function sampleMasked(
  mask: TokenMask,
  { seed, maxTokens, stopTokenId }: { seed: number; maxTokens: number; stopTokenId: number },
): MaskedText {
  const random = createRandom(seed);
  const ids: number[] = [];
  while (!mask.isComplete && ids.length < maxTokens) {
    const allowed = allowedIds(mask);
    const id = allowed[Math.floor(random() * allowed.length)] ?? -1;
    mask.accept(id);
    if (id !== stopTokenId) ids.push(id);
  }
  return { ids, isComplete: mask.isComplete };
}

export function allowedIds(mask: TokenMask): number[] {
  const words = mask.allowed() ?? [];
  const ids: number[] = [];
  for (const [index, word] of words.entries())
    for (let bit = 0; bit < 32; bit += 1) if ((word >>> bit) & 1) ids.push(index * 32 + bit);
  return ids;
}
