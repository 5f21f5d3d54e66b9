/** A token of a CTC head, in the frames [first, end). */
export interface CtcToken {
  readonly id: number;
  readonly first: number;
  readonly end: number;
  /** Natural; of its likeliest frame. */
  readonly logprob: number;
}

interface CtcLogits {
  /** Logits, or logarithms of probabilities, [frames, width]. */
  readonly logits: Float32Array;
  readonly width: number;
  readonly blank: number;
  /** Frames that count. */
  readonly frames: number;
}

/** The likeliest token of each frame; repetitions are one, blanks part them (Graves et al. 2006, 3.2). */
export function readCtcTokens({ logits, width, blank, frames }: CtcLogits): CtcToken[] {
  const tokens: CtcToken[] = [];
  let before = blank;
  for (let frame = 0; frame < frames; frame++) {
    const { id, logprob } = likeliest(logits.subarray(frame * width, (frame + 1) * width));
    const last = tokens.at(-1);
    if (id !== blank && id === before && last !== undefined)
      tokens.splice(-1, 1, {
        ...last,
        end: frame + 1,
        logprob: Math.max(last.logprob, logprob),
      });
    else if (id !== blank) tokens.push({ id, first: frame, end: frame + 1, logprob });
    before = id;
  }
  return tokens;
}

/** The greatest of some logits, and the natural logarithm of its probability. */
export function likeliest(logits: Float32Array): { readonly id: number; readonly logprob: number } {
  let id = 0;
  for (let at = 1; at < logits.length; at++) if ((logits[at] ?? 0) > (logits[id] ?? 0)) id = at;
  const most = logits[id] ?? 0;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - most);
  return { id, logprob: -Math.log(sum) };
}
