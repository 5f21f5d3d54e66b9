import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createSequenceTokenizer } from "#framemill/models/tokenizer/sequence-tokenizer.js";
import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";
import {
  createTextTokenizer,
  loadTextTokenizer,
  type TextTokenizer,
} from "#framemill/models/tokenizer/text-tokenizer.js";
import { byteTokenizerJson } from "../../support/byte-tokenizer.js";
import { createModelFolders } from "../../support/model-folders.js";
import {
  SENTENCE_PIECE_CONFIG,
  sentencePieceJson,
  staticJson,
  unigramJson,
  WORD_PIECE_CONFIG,
  wordPieceJson,
} from "../../support/tiny-tokenizers.js";
import { wordTexts } from "../../support/word-texts.js";

const folders = createModelFolders();
afterAll(() => folders.remove());

function tokensOf(tokenizer: TextTokenizer, text: string): (string | undefined)[] {
  return tokenizer.encode(text).ids.map((id) => tokenizer.tokenOf(id));
}

const anyText = fc.string({ unit: "grapheme", maxLength: 40 });

function givesBack(tokenizer: TextTokenizer, texts: fc.Arbitrary<string>) {
  return fc.property(texts, (text) => tokenizer.decode(tokenizer.encode(text).ids) === text);
}

describe("a tokenizer of Llama's kind", () => {
  const merges = ["h e", "l l", "▁ he"];
  const tokenizer = createTextTokenizer(sentencePieceJson(merges), SENTENCE_PIECE_CONFIG);

  test("joins pairs in the order of its merges, and writes what is unknown as bytes", () => {
    expect(tokensOf(tokenizer, "hello all")).toEqual(["<s>", "▁he", "ll", "o", "▁", "a", "ll"]);
    expect(tokensOf(tokenizer, "é")).toEqual(["<s>", "▁", "<0xC3>", "<0xA9>"]);
    expect(tokenizer).toMatchObject({ special: { unk: 0, bos: 1, eos: 2 }, maxTokens: undefined });
  });

  test("gives every text back", () => {
    // What it writes for a space is one, wherever it comes from.
    expect(tokenizer.decode(tokenizer.encode("x▁y").ids)).toBe("x y");
    fc.assert(
      givesBack(
        tokenizer,
        anyText.filter((text) => !text.includes("▁")),
      ),
    );
  });
});

test("a tokenizer of T5's kind cuts a text into the pieces whose scores add up to most", () => {
  const pieces = { "▁": -2, "▁un": -1, like: -1.5, ly: -3, "▁unlike": -2.2, "▁likely": -9 };
  const letters = Object.fromEntries(Array.from("unlikely", (letter) => [letter, -8]));
  const tokenizer = createTextTokenizer(unigramJson({ ...letters, ...pieces }));
  // ▁unlike + ly = −5.2, ▁un + like + ly = −5.5; ▁ + like + ly = −6.5, ▁likely = −9.
  expect(tokensOf(tokenizer, "unlikely likely")).toEqual([
    "▁unlike",
    "ly",
    "▁",
    "like",
    "ly",
    "</s>",
  ]);
  expect(tokenizer.decode(tokenizer.encode("  unlikely \n like ").ids)).toBe("unlikely like");
});

/** A tokenizer that is published as vocab.json and merges.txt, its tokens in the order of their ids. */
function loadVocabulary(tokens: readonly string[], merges: readonly string[], config: object) {
  const folder = folders.write(`vocabulary-${tokens.length}`, {
    "vocab.json": Object.fromEntries(tokens.map((token, id) => [token, id])),
    "merges.txt": `#version: 0.2\n${merges.join("\n")}\n`,
    "tokenizer_config.json": config,
  });
  const paths = { vocab: "vocab.json", merges: "merges.txt", config: "tokenizer_config.json" };
  return loadTextTokenizer({
    vocab: `${folder}/${paths.vocab}`,
    merges: `${folder}/${paths.merges}`,
    config: `${folder}/${paths.config}`,
  });
}

test("a tokenizer of GPT-2's kind joins bytes, the space before a word among them", async () => {
  const merges = ["Ġ h", "l l", "Ġh e"];
  const joined = merges.map((merge) => merge.replace(" ", ""));
  const tokens = [...byteCharacters(), ...joined, "<|endoftext|>"];
  const end = "<|endoftext|>";
  const config = { tokenizer_class: "GPT2Tokenizer", bos_token: end, eos_token: end };
  const tokenizer = await loadVocabulary(tokens, merges, config);
  expect(tokensOf(tokenizer, "hello hello")).toEqual(["h", "e", "ll", "o", "Ġhe", "ll", "o"]);
  // 日 is E6 97 A5, of which only the first stands for itself.
  expect(tokenizer.encode("日").ids).toEqual([0xe6, 0x97, 0xa5]);
  fc.assert(givesBack(tokenizer, anyText));
});

test("a tokenizer of CLIP's kind has small letters, ends of words and its own frame", async () => {
  const characters = byteCharacters();
  const ends = characters.map((character) => `${character}</w>`);
  const merges = ["c a", "ca t</w>"];
  const frame = ["<|startoftext|>", "<|endoftext|>"];
  const tokens = [...characters, ...ends, "ca", "cat</w>", ...frame];
  const tokenizer = await loadVocabulary(tokens, merges, {
    tokenizer_class: "CLIPTokenizer",
    bos_token: frame[0],
    eos_token: frame[1],
    pad_token: frame[1],
    unk_token: frame[1],
    model_max_length: 77,
  });
  expect(tokensOf(tokenizer, "A  CAT's 42!! cats")).toEqual(
    [frame[0], "a</w>", "cat</w>", "'", "s</w>", "4</w>", "2</w>", "!", "!</w>"].concat([
      "ca",
      "t",
      "s</w>",
      frame[1] ?? "",
    ]),
  );
  expect(tokenizer).toMatchObject({ maxTokens: 77, special: { bos: 514, eos: 515, pad: 515 } });
});

test("a pair has types, and the longer text is cut first", () => {
  const json = wordPieceJson(["what", "is", "it", "a", "long", "text", "##s"]);
  const tokenizer = createTextTokenizer(json, WORD_PIECE_CONFIG);
  const pair = "A long texts!";
  expect(tokenizer.encode("what is it", { pair })).toEqual({
    ids: [2, 5, 6, 7, 3, 8, 9, 10, 11, 1, 3],
    typeIds: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
  });
  const cut = tokenizer.encode("what is it", { pair, maxTokens: 7 });
  expect(cut.ids).toEqual([2, 5, 6, 3, 8, 9, 3]);
  expect(tokenizer.encode(pair, { maxTokens: 4 }).ids).toEqual([2, 8, 9, 3]);
});

describe("reading texts word by word", () => {
  const letters = Array.from("helowrdxyz北ﬁ🙂é.!?'_");
  const words = ["hello", "he", "##llo", "x", "[", "]", ...letters.map((one) => `##${one}`)];
  const scores = Object.fromEntries(
    ["▁", "▁he", "llo", ...letters].map((piece, index) => [piece, -1 - index / 7]),
  );

  test.each([
    ["BERT", wordPieceJson([...new Set([...words, ...letters])])],
    ["T5", unigramJson(scores)],
    ["Model2Vec", staticJson(["▁hello", "▁he", "llo", "▁", ...letters])],
    ["a model of bytes", byteTokenizerJson()],
  ])("gives the ids of the whole text with a tokenizer of %s", (_, json) => {
    const tokenizer = createTextTokenizer(json);
    const { contentOf } = createSequenceTokenizer(tokenizer);
    const property = fc.property(wordTexts, (text) => {
      const whole = tokenizer.encode(text, { addSpecialTokens: false }).ids;
      expect([...contentOf(text)]).toEqual(whole);
    });
    fc.assert(property, { examples: [["! ѕHello "], ["hello"]] });
  });
});

const starterTokenizer = (id: string) =>
  loadTextTokenizer({
    tokenizer: fileURLToPath(new URL(`../../../models/${id}/tokenizer.json`, import.meta.url)),
  });

test("the chat starter reads what telephones and word processors type as its training writes it", async () => {
  const tokenizer = await starterTokenizer("service-chat-1");
  const read = (text: string) => tokenizer.decode(tokenizer.encode(text).ids);
  expect(read("I’m Zoë – who wrote “Hamlet”…? 😀")).toBe("I'm Zoe - who wrote Hamlet...?");
  expect(read(`what does "brave" mean?`)).toBe("what does brave mean?");
  const json = `{"name": "Ann", "tags": ["a b", "c"]}`;
  expect(read(json)).toBe(json);
});

test.each(["service-embed-1", "service-rerank-1", "service-moderate-1"])(
  "%s reads typographic signs as plain ones",
  async (id) => {
    const tokenizer = await starterTokenizer(id);
    const typed = tokenizer.encode('don’t – “stop” – me… or "us"');
    expect(typed).toEqual(tokenizer.encode("don't - stop - me... or us"));
  },
);
