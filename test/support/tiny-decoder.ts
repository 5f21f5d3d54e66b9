import { byteTokenizerJson, STOP_TOKEN } from "./byte-tokenizer.js";
import type { Content } from "./model-folders.js";
import {
  decoderGraph,
  HEAD,
  HEADS,
  LANES,
  LAYERS,
  LETTERS,
  type TinyDecoder,
  type TinyVocabulary,
} from "./tiny-decoder-graph.js";
import { SENTENCE_PIECE_CONFIG, sentencePieceJson } from "./tiny-tokenizers.js";

/** A token a byte. */
export const BYTES: TinyVocabulary = {
  json: byteTokenizerJson(),
  config: { eos_token: "</s>", tokenizer_class: "PreTrainedTokenizerFast" },
  size: Object.keys(byteTokenizerJson().model.vocab).length,
  firstLetter: 97,
  exclamation: 33,
  stop: STOP_TOKEN,
  idsOf: (text) => (text === "" ? [STOP_TOKEN] : [...Buffer.from(text)]),
};

const pieces = sentencePieceJson();
const pieceVocabulary: Readonly<Record<string, number>> = pieces.model.vocab;
const pieceOf = (token: string) => pieceVocabulary[token] ?? 0;

/** A token a character, `<s>` and "▁" before the text. */
export const PIECES: TinyVocabulary = {
  json: pieces,
  config: SENTENCE_PIECE_CONFIG,
  size: Object.keys(pieceVocabulary).length,
  firstLetter: pieceOf("a"),
  exclamation: pieceOf("!"),
  stop: pieceOf("</s>"),
  idsOf: (text) => [
    1,
    ...(text === "" ? [] : Array.from(`▁${text.replaceAll(" ", "▁")}`, pieceOf)),
  ],
};

const CONTEXT_TOKENS = 512;

/**
 * The letters, 0 to 25, that a tiny decoder writes after these ids. Both layers of it add up, over a
 * token and all before it, `(1 + position % 2) × (1 + value % 8)`: of ids, then of sums modulo 26.
 */
export function lettersAfter(
  ids: readonly number[],
  { count, firstLetter }: { readonly count: number; readonly firstLetter: number },
): number[] {
  const known = [...ids];
  return Array.from({ length: count }, () => {
    const letter = (addUp(addUp(known).map((sum) => sum % LETTERS)).at(-1) ?? 0) + last(known);
    known.push(firstLetter + (letter % LETTERS));
    return letter % LETTERS;
  });
}

function addUp(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value, position) => (sum += (1 + (position % 2)) * (1 + (value % 8))));
}

function last(ids: readonly number[]): number {
  return ids.at(-1) ?? 0;
}

/** The text that a tiny decoder writes greedily after these ids. */
export function textAfter(ids: readonly number[], count: number, { firstLetter } = BYTES): string {
  const letters = lettersAfter(ids, { count, firstLetter });
  return String.fromCodePoint(...letters.map((letter) => 97 + letter));
}

/** The folder of a tiny decoder, in the layout of who would have exported it. */
export function decoderFiles(decoder: TinyDecoder): Record<string, Content> {
  const { path, dataFile, vocabulary, isGenai = false } = decoder;
  const graph = decoderGraph(decoder);
  const write = (to: string) => graph.write(to, dataFile === undefined ? {} : { dataFile });
  return {
    [path]: { write },
    "tokenizer.json": vocabulary.json,
    "tokenizer_config.json": vocabulary.config,
    ...(isGenai
      ? { "genai_config.json": genaiConfig(decoder) }
      : {
          "config.json": transformersConfig(decoder),
          "generation_config.json": { eos_token_id: vocabulary.stop, pad_token_id: 0 },
        }),
  };
}

function transformersConfig({ vocabulary, contextTokens }: TinyDecoder): object {
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_size: LANES,
    max_position_embeddings: contextTokens ?? CONTEXT_TOKENS,
    num_attention_heads: HEADS,
    num_hidden_layers: LAYERS,
    vocab_size: vocabulary.size,
  };
}

function genaiConfig(decoder: TinyDecoder): object {
  const { path, vocabulary, isCombined = false, contextTokens = CONTEXT_TOKENS } = decoder;
  const names = (tense: string, template: string) =>
    isCombined
      ? { [`${tense}_names`]: `${tense}_%d` }
      : {
          [`${tense}_key_names`]: `${template}.%d.key`,
          [`${tense}_value_names`]: `${template}.%d.value`,
        };
  const tokens = { input_ids: "input_ids", attention_mask: "attention_mask" };
  const inputs = { ...tokens, position_ids: "position_ids", ...names("past", "past_key_values") };
  const outputs = { logits: "logits", ...names("present", "present") };
  const sizes = { head_size: HEAD, num_hidden_layers: LAYERS, num_key_value_heads: HEADS };
  return {
    model: {
      type: "llama",
      context_length: contextTokens,
      eos_token_id: vocabulary.stop,
      vocab_size: vocabulary.size,
      decoder: { filename: path, inputs, outputs, ...sizes },
    },
    search: { past_present_share_buffer: false },
  };
}
