import { phonesTo, type LexiconTree } from "./lexicon-tree.js";
import { Search, type SearchRules } from "./search.js";
import type { WordModel } from "./word-model.js";

/** What sounds at each step: log probabilities [steps, phones], the first of them blank. */
export interface Spelled {
  readonly logprobs: Float32Array;
  readonly steps: number;
  readonly phones: number;
}

export interface FoundWord {
  readonly word: number;
  readonly phones: readonly number[];
  /** Steps [first, end) in which its phones were marked. */
  readonly first: number;
  readonly end: number;
  /** Natural logarithm of what was heard of it. */
  readonly logprob: number;
}

/**
 * The likeliest words of a stretch of sound: best path through the lexicon's tree by the rules of CTC
 * (Graves et al. 2006), with the language model's costs looked ahead in the tree. `before` is the
 * language model's state before it.
 */
export function findWords(
  spelled: Spelled,
  { tree, model }: { readonly tree: LexiconTree; readonly model: WordModel },
  { rules, before }: { readonly rules: SearchRules; readonly before: number },
): readonly FoundWord[] {
  const search = new Search(tree, model, rules);
  search.start(before);
  for (let step = 0; step < spelled.steps; step++)
    search.hear(
      spelled.logprobs.subarray(step * spelled.phones, (step + 1) * spelled.phones),
      step,
    );
  const words: FoundWord[] = [];
  for (let at = search.finish(); at !== undefined; at = at.before) {
    const { word, node, first, end, heard } = at;
    words.unshift({ word, phones: phonesTo(tree, node), first, end, logprob: heard });
  }
  return words;
}
