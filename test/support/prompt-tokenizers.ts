import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";
import type { ModelFiles } from "./model-folders.js";
import { unigramJson } from "./tiny-tokenizers.js";

/** Words that are one token each, of both tokenizers. */
const WORDS = ["a", "red", "boat", "calm", "sea", "blurry"];

/** In the order of CLIP's vocabulary: "!" is 0. */
const CHARACTERS = [...byteCharacters()].toSorted();
const WORD_END = "</w>";

/** Pairs that make a word of its characters from the left: `r e`, `re d</w>`. */
function mergesOf(word: string): string[] {
  const pieces = Array.from(word, (piece, at) =>
    at === word.length - 1 ? piece + WORD_END : piece,
  );
  return pieces.slice(1).map((piece, at) => `${pieces.slice(0, at + 1).join("")} ${piece}`);
}

const MERGES = WORDS.flatMap(mergesOf);
const CLIP_TOKENS = [
  ...CHARACTERS,
  ...CHARACTERS.map((character) => character + WORD_END),
  ...MERGES.map((pair) => pair.replace(" ", "")),
  "<|startoftext|>",
  "<|endoftext|>",
];
const CLIP_END = CLIP_TOKENS.length - 1;
const CLIP_LENGTH = 77;
export const CLIP_VOCABULARY_SIZE = CLIP_TOKENS.length;

const T5_TOKENS = ["<pad>", "</s>", "<unk>", ...WORDS.map((word) => `▁${word}`)];
const T5_END = 1;

/** A prompt of known words as CLIP's encoders read it, filled up with `padding`. */
export function clipIds(prompt: string, padding = CLIP_END): number[] {
  const words = wordsOf(prompt).map((word) => CLIP_TOKENS.indexOf(word + WORD_END));
  return filled([CLIP_END - 1, ...words, CLIP_END], CLIP_LENGTH, padding);
}

/** The same as T5's encoders read it. */
export function t5Ids(prompt: string, length: number): number[] {
  const words = wordsOf(prompt).map((word) => T5_TOKENS.indexOf(`▁${word}`));
  return filled([...words, T5_END], length, 0);
}

/** CLIP's tokenizer in a folder of a package, as older versions of transformers write it; SDXL's second pads with "!". */
export function clipTokenizer(folder: string, padding = "<|endoftext|>"): ModelFiles {
  return {
    [`${folder}/vocab.json`]: Object.fromEntries(CLIP_TOKENS.map((token, id) => [token, id])),
    [`${folder}/merges.txt`]: ["#version: 0.2", ...MERGES, ""].join("\n"),
    [`${folder}/tokenizer_config.json`]: {
      tokenizer_class: "CLIPTokenizer",
      bos_token: "<|startoftext|>",
      eos_token: "<|endoftext|>",
      unk_token: "<|endoftext|>",
      pad_token: padding,
      model_max_length: CLIP_LENGTH,
    },
  };
}

/** T5's and UMT5's tokenizer in a folder of a package. */
export function t5Tokenizer(folder: string): ModelFiles {
  return {
    [`${folder}/tokenizer.json`]: unigramJson(
      Object.fromEntries(T5_TOKENS.slice(3).map((token) => [token, -1])),
    ),
    [`${folder}/tokenizer_config.json`]: {
      tokenizer_class: "T5TokenizerFast",
      eos_token: "</s>",
      pad_token: "<pad>",
      unk_token: "<unk>",
      model_max_length: 512,
    },
  };
}

function wordsOf(prompt: string): string[] {
  return prompt.split(" ").filter((word) => word !== "");
}

function filled(ids: readonly number[], length: number, padding: number): number[] {
  return [...ids, ...Array.from({ length: length - ids.length }, () => padding)];
}
