import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** Token ids that steer Whisper; text has ids below `endOfText`, times from `firstTimestamp` on. */
export interface WhisperTokens {
  readonly endOfText: number;
  readonly startOfTranscript: number;
  /** Stands before the text that came before. */
  readonly startOfPrevious: number;
  readonly noSpeech: number;
  readonly noTimestamps: number;
  /** 0.00 s; each next id is 0.02 s later. */
  readonly firstTimestamp: number;
  readonly transcribe: number;
  /** ISO 639 code → id; empty for a model of English only. */
  readonly languages: ReadonlyMap<string, number>;
}

export interface WhisperSettings {
  readonly tokens: WhisperTokens;
  readonly melBins: number;
  /** Heads of the decoder and the length of one head. */
  readonly heads: number;
  readonly headSize: number;
  readonly layers: number;
  /** Tokens that the decoder can see, prompt included. */
  readonly maxTokens: number;
  /** Never chosen. */
  readonly suppressed: readonly number[];
  /** Not chosen first. */
  readonly suppressedFirst: readonly number[];
  /** Greatest first time, in steps of 0.02 s. */
  readonly maxInitialTimestamp: number;
  /** Cross-attention heads that follow the sound, as [layer, head]; the later half where unknown. */
  readonly alignmentHeads: readonly (readonly [number, number])[];
}

const ids = z.array(z.int()).nullish();
const config = z.object({
  num_mel_bins: z.int(),
  d_model: z.int(),
  decoder_layers: z.int(),
  decoder_attention_heads: z.int(),
  max_target_positions: z.int().default(448),
  vocab_size: z.int(),
  suppress_tokens: ids,
  begin_suppress_tokens: ids,
});
const generation = z.object({
  is_multilingual: z.boolean().optional(),
  suppress_tokens: ids,
  begin_suppress_tokens: ids,
  max_initial_timestamp_index: z.int().nullish(),
  alignment_heads: z.array(z.tuple([z.int(), z.int()])).nullish(),
});

/** Vocabularies of English-only models are one token shorter than the multilingual one. */
const MULTILINGUAL_VOCABULARY = 51_865;
const DEFAULT_MAX_INITIAL_TIMESTAMP = 50;

/** Throws an error that names the file and the field that is missing. */
export async function readWhisperSettings(
  model: ModelPackage,
  tokenizer: TextTokenizer,
): Promise<WhisperSettings> {
  const main = await readModelJson(model, "config", config);
  const generating = await readModelJson(model, "generation-config", generation, {});
  const tokens = findTokens(
    tokenizer,
    generating.is_multilingual ?? main.vocab_size >= MULTILINGUAL_VOCABULARY,
  );
  const { decoder_layers: layers, decoder_attention_heads: heads } = main;
  return {
    tokens,
    melBins: main.num_mel_bins,
    layers,
    heads,
    headSize: main.d_model / heads,
    maxTokens: main.max_target_positions,
    suppressed: [
      ...steeringTokens(tokens),
      ...(generating.suppress_tokens ?? main.suppress_tokens ?? []),
    ],
    suppressedFirst: generating.begin_suppress_tokens ?? main.begin_suppress_tokens ?? [],
    maxInitialTimestamp: generating.max_initial_timestamp_index ?? DEFAULT_MAX_INITIAL_TIMESTAMP,
    alignmentHeads: generating.alignment_heads ?? laterHeads(layers, heads),
  };
}

function findTokens(tokenizer: TextTokenizer, isMultilingual: boolean): WhisperTokens {
  const find = (...names: readonly string[]): number => {
    const id = names.map((name) => tokenizer.idOf(`<|${name}|>`)).find((it) => it !== undefined);
    if (id === undefined) throw new Error(`the tokenizer has no token <|${names[0]}|>`);
    return id;
  };
  const noTimestamps = find("notimestamps");
  return {
    endOfText: find("endoftext"),
    startOfTranscript: find("startoftranscript"),
    startOfPrevious: find("startofprev"),
    // Older vocabularies call it nocaptions; it always stands before notimestamps.
    noSpeech: noTimestamps - 1,
    noTimestamps,
    firstTimestamp: noTimestamps + 1,
    transcribe: find("transcribe"),
    languages: isMultilingual ? findLanguages(tokenizer) : new Map(),
  };
}

/** Languages stand between the start of a transcript and the first task. */
function findLanguages(tokenizer: TextTokenizer): ReadonlyMap<string, number> {
  const languages = new Map<string, number>();
  const first = (tokenizer.idOf("<|startoftranscript|>") ?? 0) + 1;
  for (let id = first; ; id++) {
    const code = /^<\|([a-z]{2,3})\|>$/.exec(tokenizer.tokenOf(id) ?? "")?.[1];
    if (code === undefined) return languages;
    languages.set(code, id);
  }
}

/** All between the end of text and the first time: none of it is said. */
function steeringTokens({ endOfText, firstTimestamp }: WhisperTokens): number[] {
  const first = endOfText + 1;
  return Array.from({ length: firstTimestamp - first }, (_, index) => first + index);
}

function laterHeads(layers: number, heads: number): [number, number][] {
  const from = Math.floor(layers / 2);
  const later = Array.from({ length: layers - from }, (_, index) => from + index);
  return later.flatMap((layer) =>
    Array.from({ length: heads }, (_, head): [number, number] => [layer, head]),
  );
}
