/** Tokens that are structure; they come first in a vocabulary. */
function special(tokens: readonly string[]) {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return tokens.map((content, id) => ({ id, content, ...flags, special: true }));
}

function numbered(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, id) => [token, id]));
}

/** Parts of a template: `$A` and `$B` are the texts, other words special tokens; `:1` is a type. */
function template(parts: string) {
  return parts.split(" ").map((part) => {
    const [name = "", type = "0"] = part.split(":");
    const isText = name.startsWith("$");
    const id = isText ? name.slice(1) : name;
    return { [isText ? "Sequence" : "SpecialToken"]: { id, type_id: Number(type) } };
  });
}

function processing(single: string, pair: string, tokens: Readonly<Record<string, number>>) {
  const names = Object.keys(tokens);
  return {
    type: "TemplateProcessing",
    single: template(single),
    pair: template(pair),
    special_tokens: Object.fromEntries(
      names.map((id) => [id, { id, ids: [tokens[id]], tokens: [id] }]),
    ),
  };
}

const LETTERS = Array.from({ length: 26 }, (_, index) => String.fromCodePoint(97 + index));
const CAPITALS = LETTERS.map((letter) => letter.toUpperCase());
const SIGNS = Array.from("0123456789.,!?'\"{}[]:-_<>/\n");
const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
);

/**
 * A tokenizer.json as Llama 2 has it: pairs of characters with "▁" for a space and one before the text,
 * bytes for what is unknown. Letters a to z have consecutive ids. A merge is written `"t h"`.
 */
export function sentencePieceJson(merges: readonly string[] = []) {
  const merged = merges.map((merge) => merge.replace(" ", ""));
  const tokens = ["<unk>", "<s>", "</s>", ...BYTES, "▁", ...LETTERS, ...CAPITALS, ...SIGNS];
  const spaces = { type: "Replace", pattern: { String: "▁" }, content: " " };
  const strip = { type: "Strip", content: " ", start: 1, stop: 0 };
  return {
    version: "1.0",
    added_tokens: special(["<unk>", "<s>", "</s>"]),
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    post_processor: processing("<s> $A", "<s> $A <s>:1 $B:1", { "<s>": 1 }),
    decoder: {
      type: "Sequence",
      decoders: [spaces, { type: "ByteFallback" }, { type: "Fuse" }, strip],
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: numbered([...tokens, ...merged]),
      merges,
    },
  };
}

/** The tokenizer_config.json beside it. */
export const SENTENCE_PIECE_CONFIG = {
  tokenizer_class: "LlamaTokenizer",
  bos_token: "<s>",
  eos_token: "</s>",
  unk_token: "<unk>",
};

/** A tokenizer.json as T5 has it: the pieces whose scores add up to most, "▁" before every word. */
export function unigramJson(pieces: Readonly<Record<string, number>>) {
  const words = { type: "Metaspace", replacement: "▁", prepend_scheme: "always" };
  return {
    version: "1.0",
    added_tokens: special(["<pad>", "</s>", "<unk>"]),
    normalizer: { type: "NFKC" },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, words] },
    post_processor: processing("$A </s>", "$A </s> $B </s>", { "</s>": 1 }),
    decoder: words,
    model: {
      type: "Unigram",
      unk_id: 2,
      vocab: [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ...Object.entries(pieces)],
    },
  };
}

const BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const BERT_NORMALIZER = {
  type: "BertNormalizer",
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: null,
  lowercase: true,
};

/** A tokenizer.json as BERT has it: lower-case words, whose later pieces begin with "##". */
export function wordPieceJson(words: readonly string[]) {
  return {
    version: "1.0",
    added_tokens: special(BERT_TOKENS),
    normalizer: BERT_NORMALIZER,
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: processing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {
      "[CLS]": 2,
      "[SEP]": 3,
    }),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: numbered([...BERT_TOKENS, ...words]),
    },
  };
}

/** The tokenizer_config.json beside it. */
export const WORD_PIECE_CONFIG = {
  tokenizer_class: "BertTokenizer",
  model_max_length: 512,
  cls_token: "[CLS]",
  mask_token: "[MASK]",
  pad_token: "[PAD]",
  sep_token: "[SEP]",
  unk_token: "[UNK]",
};

/** A tokenizer.json as Model2Vec makes them: BERT's words as unigrams of scores that are all alike. */
export function staticJson(words: readonly string[]) {
  const replace = (pattern: object, content: string) => ({ type: "Replace", pattern, content });
  const signs = Array.from("!?.,", (sign) => replace({ String: sign }, ` ${sign} `));
  const normalizers = [BERT_NORMALIZER, ...signs, replace({ Regex: String.raw`\s+` }, " ")];
  return {
    version: "1.0",
    added_tokens: special(["[PAD]", "[UNK]"]),
    normalizer: {
      type: "Sequence",
      normalizers: [...normalizers, { type: "Strip", strip_left: true, strip_right: true }],
    },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: false },
    post_processor: processing("$A", "$A $B", {}),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "Unigram",
      unk_id: 1,
      byte_fallback: false,
      vocab: ["[PAD]", "[UNK]", ...words].map((word) => [word, -10]),
    },
  };
}
