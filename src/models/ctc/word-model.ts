/** Which word follows which. A state stands for the words before; costs are -ln p. */
export interface WordModel {
  readonly words: number;
  /** Before the first word of a sentence. */
  readonly begin: number;
  /** Ends a sentence. */
  readonly end: number;
  /** Of a word without what is before it. */
  costOf(word: number): number;
  follow(state: number, word: number): { readonly cost: number; readonly state: number };
  /** The state after some words, the newest last. */
  stateAfter(words: readonly number[]): number;
}

const MAGIC = "FMLM";
const STEP = 16;
const NO_BACK_OFF = 128;

/** The file's columns; a pair's number is its place, and so is a triple's. */
interface Columns {
  readonly wordCosts: Uint8Array;
  readonly wordOffs: Uint8Array;
  /** Pairs that begin with word w are [firstPairs[w], firstPairs[w + 1]). */
  readonly firstPairs: Uint32Array;
  readonly seconds: Uint16Array;
  readonly pairCosts: Uint8Array;
  readonly pairOffs: Uint8Array;
  readonly firstTriples: Uint32Array;
  readonly thirds: Uint16Array;
  readonly tripleCosts: Uint8Array;
}

/**
 * Reads a back-off model of up to three words (the layout is in the recipe's language_model.py). States
 * below `words` are the last word; the others are `words` + the number of the last pair.
 */
export function parseWordModel(bytes: Uint8Array): WordModel {
  const columns = readColumns(bytes);
  const words = columns.wordCosts.length;
  const memo = new Map<number, { readonly cost: number; readonly state: number }>();
  const model: WordModel = {
    words,
    begin: 0,
    end: 1,
    costOf: (word) => (columns.wordCosts[word] ?? 255) / STEP,
    follow(state, word) {
      const key = state * words + word;
      const known = memo.get(key);
      if (known !== undefined) return known;
      const step = followOnce(columns, words, { state, word });
      if (memo.size >= MEMO_SIZE) memo.clear();
      memo.set(key, step);
      return step;
    },
    stateAfter: (before) =>
      before.reduce((state, word) => model.follow(state, word).state, model.begin),
  };
  return model;
}

const MEMO_SIZE = 200_000;

function followOnce(
  columns: Columns,
  words: number,
  { state, word }: { readonly state: number; readonly word: number },
): { readonly cost: number; readonly state: number } {
  const last = state < words ? state : (columns.seconds[state - words] ?? 0);
  const pair = findPair(columns, last, word);
  const next = pair < 0 ? word : words + pair;
  if (state >= words) {
    const triple = findTriple(columns, state - words, word);
    if (triple >= 0) return { cost: (columns.tripleCosts[triple] ?? 255) / STEP, state: next };
  }
  const pairOff = state < words ? 0 : offOf(columns.pairOffs, state - words);
  if (pair >= 0) return { cost: pairOff + (columns.pairCosts[pair] ?? 255) / STEP, state: next };
  const single = offOf(columns.wordOffs, last) + (columns.wordCosts[word] ?? 255) / STEP;
  return { cost: pairOff + single, state: next };
}

function offOf(offs: Uint8Array, at: number): number {
  return ((offs[at] ?? NO_BACK_OFF) - NO_BACK_OFF) / STEP;
}

function findPair({ firstPairs, seconds }: Columns, first: number, second: number): number {
  return search(seconds, second, { from: firstPairs[first] ?? 0, end: firstPairs[first + 1] ?? 0 });
}

function findTriple({ firstTriples, thirds }: Columns, pair: number, third: number): number {
  const from = firstTriples[pair] ?? 0;
  return search(thirds, third, { from, end: firstTriples[pair + 1] ?? 0 });
}

/** Place of a value in a sorted part; -1 where it is not. */
function search(
  values: Uint16Array,
  target: number,
  part: { readonly from: number; readonly end: number },
): number {
  let { from, end } = part;
  while (from < end) {
    const middle = (from + end) >>> 1;
    const value = values[middle] ?? 0;
    if (value === target) return middle;
    if (value < target) from = middle + 1;
    else end = middle;
  }
  return -1;
}

function readColumns(bytes: Uint8Array): Columns {
  const reader = createReader(bytes);
  const [words = 0, pairs = 0, triples = 0] = reader.words(3);
  const columns = {
    wordCosts: reader.bytes(words),
    wordOffs: reader.bytes(words),
    firstPairs: running(reader.words(words)),
    seconds: reader.halves(pairs),
    pairCosts: reader.bytes(pairs),
    pairOffs: reader.bytes(pairs),
    firstTriples: running(reader.halves(pairs)),
    thirds: reader.halves(triples),
    tripleCosts: reader.bytes(triples),
  };
  if (!reader.isAtEnd()) throw new Error("the language model is longer than its header says");
  return columns;
}

/** Reads columns one after the other; onnxruntime-node has binaries for little-endian machines only. */
function createReader(bytes: Uint8Array) {
  if (Buffer.from(bytes.subarray(0, MAGIC.length)).toString("latin1") !== MAGIC)
    throw new Error(`the language model must begin with ${MAGIC}`);
  let at = MAGIC.length;
  const take = (length: number) => {
    at += length;
    if (at > bytes.byteLength)
      throw new Error("the language model is shorter than its header says");
    return new Uint8Array(bytes.subarray(at - length, at));
  };
  return {
    bytes: take,
    halves: (count: number) => new Uint16Array(take(2 * count).buffer),
    words: (count: number) => new Uint32Array(take(4 * count).buffer),
    isAtEnd: () => at === bytes.byteLength,
  };
}

/** Where each part begins, from the parts' lengths; the last entry is where all end. */
function running(counts: Uint16Array | Uint32Array): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let at = 0; at < counts.length; at++) starts[at + 1] = (starts[at] ?? 0) + (counts[at] ?? 0);
  return starts;
}
