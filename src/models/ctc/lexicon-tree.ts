/** The words that can be heard, with how each may sound. */
interface Lexicon {
  /** As written, by number; the first two are the sentence's beginning and end. */
  readonly words: readonly string[];
  readonly pronunciations: readonly Pronunciation[];
}

interface Pronunciation {
  readonly word: number;
  /** Numbers from 1 on; 0 is silence. */
  readonly phones: readonly number[];
}

/**
 * Reads one word a line: its spelling, then each pronunciation after a tab, phones apart by spaces.
 * Throws an error that names the line with a phone that is not in `phones`.
 */
export function parseLexicon(text: string, phones: readonly string[]): Lexicon {
  const numberOf = new Map(phones.map((phone, number) => [phone, number]));
  // 0 and 1 are a sentence's beginning and end.
  const words = ["", ""];
  const pronunciations: Pronunciation[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue;
    const [spelling = "", ...forms] = line.split("\t");
    for (const form of forms) {
      const numbers = form.split(" ").map((phone) => numberOf.get(phone) ?? -1);
      if (numbers.some((number) => number < 1))
        throw new Error(`line ${index + 1} of the lexicon has an unknown phone: ${form}`);
      pronunciations.push({ word: words.length, phones: numbers });
    }
    words.push(spelling);
  }
  return { words, pronunciations };
}

/** All pronunciations as one tree of phones, in flat arrays; node 0 is its root. */
export interface LexiconTree {
  /** Phone that leads into each node. */
  readonly phones: Uint8Array;
  readonly parents: Int32Array;
  /** Children of node n are the nodes [firstChildren[n], firstChildren[n + 1]). */
  readonly firstChildren: Int32Array;
  /** Words that end at node n are `words` [firstWords[n], firstWords[n + 1]). */
  readonly firstWords: Int32Array;
  readonly words: Int32Array;
  /** Least cost of a word that can still be reached, at each node. */
  readonly leastCosts: Float32Array;
}

interface Growing {
  readonly phone: number;
  readonly parent: number;
  /** Of sorted pronunciations, those that pass through it. */
  readonly first: number;
  readonly end: number;
}

/** `costOf` says how unlikely a word is by itself. */
export function growTree(
  { pronunciations }: Lexicon,
  costOf: (word: number) => number,
): LexiconTree {
  const sorted = sortByPhones(pronunciations);
  const nodes: Growing[] = [{ phone: 0, parent: -1, first: 0, end: sorted.length }];
  const depths = [0];
  const firstChildren: number[] = [];
  const firstWords: number[] = [];
  const words: number[] = [];
  for (let node = 0; node < nodes.length; node++) {
    const { first, end } = nodes[node] ?? { first: 0, end: 0 };
    const depth = depths[node] ?? 0;
    firstChildren.push(nodes.length);
    firstWords.push(words.length);
    let at = first;
    for (; at < end && sorted[at]?.phones.length === depth; at++) words.push(sorted[at]?.word ?? 0);
    for (const child of splitByPhone(sorted, { from: at, end, depth })) {
      nodes.push({ ...child, parent: node });
      depths.push(depth + 1);
    }
  }
  firstChildren.push(nodes.length);
  firstWords.push(words.length);
  return {
    phones: Uint8Array.from(nodes, ({ phone }) => phone),
    parents: Int32Array.from(nodes, ({ parent }) => parent),
    firstChildren: Int32Array.from(firstChildren),
    firstWords: Int32Array.from(firstWords),
    words: Int32Array.from(words),
    leastCosts: Float32Array.from(nodes, ({ first, end }) => leastCost(sorted, first, end, costOf)),
  };
}

/** Strings compare much faster than lists; phones are fewer than characters. */
function sortByPhones(pronunciations: readonly Pronunciation[]): Pronunciation[] {
  return pronunciations
    .map((it) => ({ it, key: String.fromCharCode(...it.phones) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ it }) => it);
}

function* splitByPhone(
  sorted: readonly Pronunciation[],
  { from, end, depth }: { readonly from: number; readonly end: number; readonly depth: number },
): Generator<Omit<Growing, "parent">> {
  let first = from;
  while (first < end) {
    const phone = sorted[first]?.phones[depth] ?? 0;
    let last = first;
    while (last < end && sorted[last]?.phones[depth] === phone) last++;
    yield { phone, first, end: last };
    first = last;
  }
}

function leastCost(
  sorted: readonly Pronunciation[],
  first: number,
  end: number,
  costOf: (word: number) => number,
): number {
  let least = Infinity;
  for (let at = first; at < end; at++) least = Math.min(least, costOf(sorted[at]?.word ?? 0));
  return least;
}

/** Phones from the root to a node. */
export function phonesTo({ phones, parents }: LexiconTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = parents[at] ?? 0) path.unshift(phones[at] ?? 0);
  return path;
}
