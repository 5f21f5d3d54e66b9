import { describe, expect, test } from "vitest";
import { createDetokenizer } from "#framemill/models/tokenizer/detokenizer.js";
import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";
import { createTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";

const special = (id: number, content: string) => ({ id, content, special: true });

/** Ids: 0 `<s>`, then one a byte. */
const byteLevel = createTextTokenizer({
  added_tokens: [special(0, "<s>")],
  decoder: { type: "ByteLevel" },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: false },
  model: {
    type: "BPE",
    vocab: Object.fromEntries(["<s>", ...byteCharacters()].map((token, id) => [token, id])),
    merges: [],
  },
});

const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
);
const WORDS = ["▁Hello", "▁world", "!"];

/** Ids: 0 `<s>`, 1 to 256 bytes, then words. */
const sentencePiece = createTextTokenizer({
  added_tokens: [special(0, "<s>")],
  decoder: {
    type: "Sequence",
    decoders: [
      { type: "Replace", pattern: { String: "▁" }, content: " " },
      { type: "ByteFallback" },
      { type: "Fuse" },
      { type: "Strip", content: " ", start: 1, stop: 0 },
    ],
  },
  model: {
    type: "BPE",
    vocab: Object.fromEntries(["<s>", ...BYTES, ...WORDS].map((token, id) => [token, id])),
    merges: [],
    byte_fallback: true,
  },
});
const HELLO = 257;
const WORLD = 258;

const wordPiece = createTextTokenizer({
  added_tokens: [],
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: { type: "WordPiece", unk_token: "?", vocab: { "?": 0, play: 1, "##ing": 2, now: 3 } },
});

function stream(tokenizer: typeof byteLevel, ids: readonly number[], before: number[] = []) {
  const detokenizer = createDetokenizer(tokenizer, { before });
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

describe("text from tokens", () => {
  test("waits for the rest of a character", () => {
    const ids = byteLevel.encode("a😀é").ids;
    expect(ids).toHaveLength(7);
    expect(stream(byteLevel, ids)).toEqual(["a", "", "", "", "😀", "", "é", ""]);
    expect(byteLevel.decode(ids)).toBe("a😀é");
  });

  test("shows what was broken off as U+FFFD at the end", () => {
    const ids = byteLevel.encode("a😀").ids.slice(0, 3);
    expect(stream(byteLevel, ids)).toEqual(["a", "", "", "\u{FFFD}"]);
  });

  test("joins bytes of a fallback and keeps the space of a word in mid-sentence", () => {
    const ids = [HELLO, ...[...Buffer.from("é")].map((byte) => byte + 1), WORLD];
    expect(stream(sentencePiece, ids)).toEqual(["Hello", "", "é", " world", ""]);
    expect(stream(sentencePiece, [WORLD], [0, HELLO])).toEqual([" world", ""]);
    expect(stream(sentencePiece, [WORLD], [0])).toEqual(["world", ""]);
  });

  test("leaves special tokens out, or writes them where they are asked for", () => {
    expect(stream(sentencePiece, [HELLO, 0])).toEqual(["Hello", "", ""]);
    const detokenizer = createDetokenizer(sentencePiece, { keepSpecialTokens: true });
    expect(detokenizer.push(0)).toBe("<s>");
  });

  test("reads on through a decoder that looks at neighbours", () => {
    expect(stream(wordPiece, [1, 2, 3])).toEqual(["play", "ing", " now", ""]);
  });
});
