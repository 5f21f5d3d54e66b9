import { describe, expect, test } from "vitest";
import { alignWords } from "#framemill/models/ctc/align-words.js";
import { findWords } from "#framemill/models/ctc/search.js";
import { growTree, parseLexicon, phonesTo } from "#framemill/models/ctc/lexicon-tree.js";
import { parseWordModel } from "#framemill/models/ctc/word-model.js";

const PHONES = ["sil", "s", "iy", "ah", "n", "d"];
const LEXICON = "sea\ts iy\nsee\ts iy\nsun\ts ah n\nand\tah n d\tah n\nsees\ts iy s\n";
const [SEA, SEE, SUN, AND] = [2, 3, 4, 5];
const RULES = { languageWeight: 1, wordBonus: 0, beam: 30, maxHypotheses: 200 };

interface Gram {
  readonly words: readonly number[];
  readonly cost: number;
  /** What a longer one costs more where this one only ends it. */
  readonly off?: number;
}

/** The file of a model with these n-grams, costs in whole nats. */
function wordModelFile(words: number, grams: readonly Gram[]): Uint8Array {
  const [singles, pairs, triples] = [1, 2, 3].map((length) =>
    grams
      .filter((gram) => gram.words.length === length)
      .toSorted((one, other) => key(one.words) - key(other.words)),
  ) as [Gram[], Gram[], Gram[]];
  const single = (word: number) => singles.find((gram) => gram.words[0] === word);
  const bytes = (values: readonly number[]) => Buffer.from(values);
  const wide = (values: readonly number[], size: 2 | 4) => {
    const column = Buffer.alloc(values.length * size);
    for (const [at, value] of values.entries()) column.writeUIntLE(value, at * size, size);
    return column;
  };
  const all = Array.from({ length: words }, (_, word) => word);
  const begin = (list: readonly Gram[], start: readonly number[]) =>
    list.filter((gram) => start.every((word, at) => gram.words[at] === word)).length;
  return Buffer.concat([
    Buffer.from("FMLM"),
    wide([words, pairs.length, triples.length], 4),
    bytes(all.map((word) => 16 * (single(word)?.cost ?? 2))),
    bytes(all.map((word) => 128 + 16 * (single(word)?.off ?? 0))),
    wide(
      all.map((word) => begin(pairs, [word])),
      4,
    ),
    wide(
      pairs.map((gram) => gram.words[1] ?? 0),
      2,
    ),
    bytes(pairs.map((gram) => 16 * gram.cost)),
    bytes(pairs.map((gram) => 128 + 16 * (gram.off ?? 0))),
    wide(
      pairs.map((gram) => begin(triples, gram.words)),
      2,
    ),
    wide(
      triples.map((gram) => gram.words[2] ?? 0),
      2,
    ),
    bytes(triples.map((gram) => 16 * gram.cost)),
  ]);
}

const key = (words: readonly number[]) => words.reduce((sum, word) => sum * 100 + word, 0);

/** Log probabilities of steps that say these phones, all but surely. */
function spelled(...said: readonly string[]) {
  const logprobs = new Float32Array(said.length * PHONES.length).fill(Math.log(0.01));
  for (const [step, phone] of said.entries())
    logprobs[step * PHONES.length + PHONES.indexOf(phone)] = Math.log(0.95);
  return { logprobs, steps: said.length, phones: PHONES.length };
}

function reader(grams: readonly Gram[]) {
  const lexicon = parseLexicon(LEXICON, PHONES);
  const model = parseWordModel(wordModelFile(lexicon.words.length, grams));
  const tree = growTree(lexicon, (word) => model.costOf(word));
  return (...said: readonly string[]) =>
    findWords(spelled(...said), { tree, model }, { rules: RULES, before: model.begin });
}

const spellings = (found: ReturnType<ReturnType<typeof reader>>) =>
  found.map(({ word }) => LEXICON.split("\n")[word - 2]?.split("\t")[0]);

describe("a lexicon's tree", () => {
  test("shares beginnings, keeps homophones and knows the least cost ahead", () => {
    const lexicon = parseLexicon(LEXICON, PHONES);
    const tree = growTree(lexicon, (word) => word);
    // The root, s, s iy, s iy s, s ah, s ah n, ah, ah n, ah n d.
    expect(tree.phones).toHaveLength(9);
    const isEnd = (node: number) => (tree.firstWords[node + 1] ?? 0) > (tree.firstWords[node] ?? 0);
    const ends = [...tree.phones.keys()].filter(isEnd).map((node) => phonesTo(tree, node).length);
    expect(ends.toSorted((one, other) => one - other)).toEqual([2, 2, 3, 3, 3]);
    expect(tree.leastCosts[0]).toBe(SEA);
  });

  test("names the line of a phone that the model does not have", () => {
    expect(() => parseLexicon("sun\ts ah n\nzoo\tz uw\n", PHONES)).toThrow(
      "line 2 of the lexicon has an unknown phone: z uw",
    );
  });
});

describe("a language model", () => {
  const grams = [
    { words: [SEA], cost: 5 },
    { words: [SUN], cost: 3, off: 1 },
    { words: [SEE], cost: 4, off: 2 },
    { words: [SUN, AND], cost: 2, off: 3 },
    { words: [SUN, AND, SEA], cost: 1 },
  ];

  test("takes the longest n-gram that it has, and backs off from the others", () => {
    const model = parseWordModel(wordModelFile(7, grams));
    const afterSun = model.follow(model.begin, SUN);
    expect(afterSun.cost).toBe(3);
    const afterPair = model.follow(afterSun.state, AND);
    expect(afterPair.cost).toBe(2);
    expect(model.follow(afterPair.state, SEA).cost).toBe(1);
    expect(model.follow(afterPair.state, SEE).cost).toBe(3 + 4);
    expect(model.follow(afterSun.state, SEA).cost).toBe(1 + 5);
    expect(model.stateAfter([SUN, AND])).toBe(afterPair.state);
  });

  test("refuses a file of another length or kind", () => {
    const file = wordModelFile(7, grams);
    expect(() => parseWordModel(file.subarray(0, -1))).toThrow("shorter than its header says");
    expect(() => parseWordModel(Buffer.concat([file, Buffer.alloc(1)]))).toThrow("longer than");
    expect(() => parseWordModel(Buffer.from("ARPA"))).toThrow("must begin with FMLM");
  });
});

describe("the search for words", () => {
  test("reads phones between blanks, however long they sound", () => {
    const read = reader([]);
    expect(spellings(read("sil", "s", "s", "ah", "sil", "n", "sil"))).toEqual(["sun"]);
    expect(read("sil", "sil", "sil")).toEqual([]);
  });

  test("hears the same phone twice only with a blank between", () => {
    const read = reader([]);
    expect(spellings(read("s", "iy", "s", "sil", "s", "ah", "n"))).toEqual(["sees", "sun"]);
    expect(spellings(read("s", "iy", "s", "s", "ah", "n"))).not.toEqual(["sees", "sun"]);
  });

  test("lets the words before choose between words that sound alike", () => {
    const grams = [
      { words: [SEA], cost: 4 },
      { words: [SEE], cost: 3 },
      { words: [AND, SEA], cost: 1 },
    ];
    expect(spellings(reader(grams)("s", "iy"))).toEqual(["see"]);
    expect(spellings(reader(grams)("ah", "n", "d", "s", "iy"))).toEqual(["and", "sea"]);
  });

  test("tells where each word was and how sure it is", () => {
    const [sun, see] = reader([])("sil", "s", "ah", "n", "sil", "s", "iy");
    expect([sun?.first, sun?.end]).toEqual([1, 4]);
    expect([see?.first, see?.end]).toEqual([5, 7]);
    expect(sun?.logprob).toBeCloseTo(5 * Math.log(0.95), 5);
  });
});

describe("the alignment of words", () => {
  test("gives each phone its steps and leaves the silence between words out", () => {
    const states = spelled("sil", "s", "s", "iy", "iy", "sil", "sil", "s", "ah", "n", "n", "sil");
    expect(
      alignWords(states, [
        [1, 2],
        [1, 3, 4],
      ]),
    ).toEqual([
      { first: 1, end: 5 },
      { first: 7, end: 11 },
    ]);
  });

  test("is undefined where the sound is shorter than the words", () => {
    expect(alignWords(spelled("s"), [[1, 2]])).toBeUndefined();
  });
});
