import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";

/** Longer tokens, as trained vocabularies have them: across the edges of JSON's own pieces. */
const MERGED = [
  '{"',
  '":',
  '",',
  '"}',
  "}}",
  "null",
  "true",
  " {",
  "12",
  "0.",
  "\\u",
  "ab",
  "é",
  "ag",
  "name",
];

/** A token of 40 letters, and its id. */
const LONG_TEXT = "a".repeat(40);

/** The id that ends an answer. */
export const STOP_TOKEN = 256;
export const SPECIAL_TOKEN = 257;

/** A byte-level tokenizer.json: every byte, `</s>`, `[TOOL_CALLS]`, and some longer tokens. */
export function byteTokenizerJson() {
  const characters = byteCharacters();
  const spell = (text: string) => [...Buffer.from(text)].map((byte) => characters[byte]).join("");
  const tokens = [...characters, "</s>", "[TOOL_CALLS]", ...MERGED.map(spell), LONG_TEXT];
  const added = [STOP_TOKEN, SPECIAL_TOKEN].map((id) => ({
    id,
    content: tokens[id],
    special: true,
    normalized: false,
  }));
  return {
    added_tokens: added,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

export const LONG_TOKEN = 256 + 2 + MERGED.length;
export const BYTE_VOCABULARY_SIZE = LONG_TOKEN + 1;
