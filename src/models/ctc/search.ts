import { type LexiconTree, phonesTo } from "./lexicon-tree.js";
import type { WordModel } from "./word-model.js";

export interface SearchRules {
  /** Weight of the language model against what was heard. */
  readonly languageWeight: number;
  /** Added for each word, natural logarithm. */
  readonly wordBonus: number;
  /** Hypotheses this far behind the best are given up. */
  readonly beam: number;
  readonly maxHypotheses: number;
}

/** A finished word and those before it. */
interface Chain {
  readonly word: number;
  readonly node: number;
  readonly first: number;
  readonly end: number;
  readonly acoustic: number;
  readonly before: Chain | undefined;
}

/** One way to read what was heard so far. */
interface Hypothesis {
  readonly node: number;
  /** Of the language model. */
  readonly state: number;
  /** The last step was blank, or a phone. */
  readonly isBlank: boolean;
  /** All together; larger is better. */
  readonly score: number;
  /** Log probability of what was heard. */
  readonly acoustic: number;
  /** The same at the beginning of the present word. */
  readonly acousticBefore: number;
  /** Steps of the present word's first phone and of its last. */
  readonly first: number;
  readonly last: number;
  readonly chain: Chain | undefined;
}

/** Log probabilities of blank and phones at a step. */
interface Sound {
  readonly logprobs: Float32Array;
  readonly step: number;
}

/** How a hypothesis comes into a node; `isNew` begins a word. */
interface Entry {
  readonly node: number;
  readonly score: number;
  readonly logprob: number;
  readonly step: number;
  readonly isNew: boolean;
}

/** Phones below this log probability begin nothing. */
const LEAST_PHONE = -7;
/** A step that is this surely blank only lengthens what is. */
const SURELY_BLANK = -0.02;

/** The hypotheses about a stretch of sound, step by step. */
class Search {
  readonly #tree: LexiconTree;
  readonly #model: WordModel;
  readonly #rules: SearchRules;
  #alive: readonly Hypothesis[] = [];
  #next = new Map<number, Hypothesis>();
  #best = -Infinity;

  constructor(tree: LexiconTree, model: WordModel, rules: SearchRules) {
    this.#tree = tree;
    this.#model = model;
    this.#rules = rules;
  }

  start(state: number): void {
    const nothing = { acoustic: 0, acousticBefore: 0, first: 0, last: 0, chain: undefined };
    const score = -this.#rules.languageWeight * (this.#tree.leastCosts[0] ?? 0);
    this.#alive = [{ ...nothing, node: 0, state, isBlank: true, score }];
  }

  /** `logprobs` are those of blank and phones at the next step. */
  hear(logprobs: Float32Array, step: number): void {
    this.#next = new Map();
    this.#best = -Infinity;
    const blank = logprobs[0] ?? -Infinity;
    for (const it of this.#alive) {
      this.#keep({ ...it, isBlank: true, score: it.score + blank, acoustic: it.acoustic + blank });
      if (blank <= SURELY_BLANK) this.#sound(it, { logprobs, step });
    }
    this.#prune();
  }

  /** The words of the best hypothesis that ends with a whole one. */
  finish(): Chain | undefined {
    let best: Hypothesis | undefined;
    let most = -Infinity;
    for (const open of this.#alive)
      for (const it of open.node === 0 ? [open] : this.#endings(open)) {
        const score = it.score - this.#costOfEnd(it);
        if (score <= most) continue;
        most = score;
        best = it;
      }
    return (best ?? this.#alive[0])?.chain;
  }

  /** The present phone goes on, or another follows: of the same word, or of the next. */
  #sound(it: Hypothesis, sound: Sound): void {
    const { logprobs, step } = sound;
    const logprob = logprobs[this.#tree.phones[it.node] ?? 0] ?? -Infinity;
    if (!it.isBlank && logprob >= LEAST_PHONE)
      this.#keep({ ...it, score: it.score + logprob, acoustic: it.acoustic + logprob, last: step });
    this.#grow(it, it.node, sound);
    if (it.node === 0) return;
    for (const ended of this.#endings(it))
      if (ended.score >= this.#best - this.#rules.beam) this.#grow(ended, 0, sound);
  }

  /** Into every child of `from` that may sound now. */
  #grow(it: Hypothesis, from: number, { logprobs, step }: Sound): void {
    const { phones, firstChildren, leastCosts } = this.#tree;
    const weight = this.#rules.languageWeight;
    const costOf = (at: number) => weight * (leastCosts[at] ?? 0);
    const paid = it.score + costOf(from);
    // The same phone again needs a blank between.
    const barred = it.isBlank ? -1 : (phones[it.node] ?? -1);
    const end = firstChildren[from + 1] ?? 0;
    for (let node = firstChildren[from] ?? 0; node < end; node++) {
      const phone = phones[node] ?? 0;
      const logprob = logprobs[phone] ?? -Infinity;
      if (logprob < LEAST_PHONE || phone === barred) continue;
      const score = paid + logprob - costOf(node);
      if (score >= this.#best - this.#rules.beam)
        this.#enter(it, { node, score, logprob, step, isNew: from === 0 });
    }
  }

  #enter(it: Hypothesis, { node, score, logprob, step, isNew }: Entry): void {
    this.#keep({
      node,
      state: it.state,
      isBlank: false,
      score,
      acoustic: it.acoustic + logprob,
      acousticBefore: it.acousticBefore,
      first: isNew ? step : it.first,
      last: step,
      chain: it.chain,
    });
  }

  /** The hypothesis with each word that ends at its node said; the tree's costs are settled. */
  #endings(it: Hypothesis): Hypothesis[] {
    const { firstWords, words, leastCosts } = this.#tree;
    const { languageWeight, wordBonus } = this.#rules;
    const { node, first, last, acoustic, acousticBefore, chain: before } = it;
    const paid = (leastCosts[node] ?? 0) - (leastCosts[0] ?? 0);
    const all: Hypothesis[] = [];
    for (let at = firstWords[node] ?? 0; at < (firstWords[node + 1] ?? 0); at++) {
      const word = words[at] ?? 0;
      const { cost, state } = this.#model.follow(it.state, word);
      const score = it.score - languageWeight * (cost - paid) + wordBonus;
      const chain = {
        word,
        node,
        first,
        end: last + 1,
        acoustic: acoustic - acousticBefore,
        before,
      };
      all.push({ ...it, state, score, acousticBefore: acoustic, chain });
    }
    return all;
  }

  /** Of those that go on alike, the best one stays. */
  #keep(it: Hypothesis): void {
    if (it.score < this.#best - this.#rules.beam) return;
    if (it.score > this.#best) this.#best = it.score;
    const key = (it.state * this.#tree.phones.length + it.node) * 2 + (it.isBlank ? 1 : 0);
    const other = this.#next.get(key);
    if (other === undefined || other.score < it.score) this.#next.set(key, it);
  }

  #prune(): void {
    const least = this.#best - this.#rules.beam;
    const all = [...this.#next.values()].filter(({ score }) => score >= least);
    const { maxHypotheses } = this.#rules;
    this.#alive =
      all.length <= maxHypotheses
        ? all
        : all.toSorted((one, other) => other.score - one.score).slice(0, maxHypotheses);
  }

  #costOfEnd({ chain, state }: Hypothesis): number {
    if (chain === undefined) return 0;
    return this.#rules.languageWeight * this.#model.follow(state, this.#model.end).cost;
  }
}

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
    const { word, node, first, end, acoustic } = at;
    words.unshift({ word, phones: phonesTo(tree, node), first, end, logprob: acoustic });
  }
  return words;
}
