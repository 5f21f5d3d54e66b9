import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { SPEECH_RATE_HZ } from "../../media/mel.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { type CtcToken, readCtcTokens } from "../speech-recognition/ctc-tokens.js";
import { normaliseSamples } from "../speech-recognition/normalise-samples.js";
import {
  createStretchRecogniser,
  type HeardToken,
} from "../speech-recognition/transcribe-stretches.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";

/** wav2vec2, HuBERT and their kin: raw samples to letters, one frame every 20 ms in the published ones. */
export async function openWav2vec2(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const spelling = await readSpelling(model);
  const { conv_stride: strides } = await readModelJson(model, "config", config);
  const { do_normalize: isNormalised } = await readModelJson(
    model,
    "preprocessor-config",
    features,
  );
  const frameSeconds = strides.reduce((all, one) => all * one, 1) / SPEECH_RATE_HZ;
  const graphs = await openModelGraphs(model, ["model"], setup);
  return await createStretchRecogniser(model, setup, {
    async hear(samples) {
      const feeds = {
        input_values: float32(isNormalised ? normaliseSamples(samples) : samples, [
          1,
          samples.length,
        ]),
        attention_mask: int64Of(new Uint8Array(samples.length).fill(1), [1, samples.length]),
      };
      const outputs = await graphs.run("model", feeds, { fetch: ["logits"] });
      const [, frames = 0, width = 1] = outputs["logits"]?.dims ?? [];
      const { blank } = spelling;
      const found = readCtcTokens({ logits: floatsOf(outputs, "logits"), width, blank, frames });
      return { tokens: spell(found, spelling, frameSeconds) };
    },
    close: () => graphs.close(),
  });
}

interface Spelling {
  /** Letter by id; undefined for what is no text. */
  readonly letters: readonly (string | undefined)[];
  readonly blank: number;
  /** Stands between words. */
  readonly delimiter: string;
}

/** Letters, each word's first with a space before it. */
function spell(
  found: readonly CtcToken[],
  { letters, delimiter }: Spelling,
  frameSeconds: number,
): HeardToken[] {
  let startsWord = true;
  return found.flatMap(({ id, first, end, logprob }): HeardToken[] => {
    const letter = letters[id];
    if (letter === delimiter) startsWord = true;
    if (letter === undefined || letter === delimiter) return [];
    const text = startsWord ? ` ${letter}` : letter;
    startsWord = false;
    const place = { startSeconds: first * frameSeconds, endSeconds: end * frameSeconds };
    return [{ id, text, logprob, place }];
  });
}

const config = z.object({
  conv_stride: z.array(z.int().positive()).default([5, 2, 2, 2, 2, 2, 2]),
});
const features = z.object({
  do_normalize: z.boolean().default(true),
  sampling_rate: z.literal(SPEECH_RATE_HZ).default(SPEECH_RATE_HZ),
});
const token = z.union([
  z.string(),
  z.object({ content: z.string() }).transform((it) => it.content),
]);
const tokenizerConfig = z.object({
  pad_token: token.default("<pad>"),
  unk_token: token.default("<unk>"),
  bos_token: token.nullish().transform((it) => it ?? "<s>"),
  eos_token: token.nullish().transform((it) => it ?? "</s>"),
  word_delimiter_token: token.nullish().transform((it) => it ?? "|"),
  do_lower_case: z.boolean().nullish(),
});
const vocabulary = z.record(z.string(), z.int());
const tokenizerJson = z.object({ model: z.object({ vocab: vocabulary }) });

/** Throws an error that names the file, and the token that it lacks. */
async function readSpelling(model: ModelPackage): Promise<Spelling> {
  const vocab =
    model.files["vocab"] === undefined
      ? (await readModelJson(model, "tokenizer", tokenizerJson)).model.vocab
      : await readModelJson(model, "vocab", vocabulary);
  const named = await readModelJson(model, "tokenizer-config", tokenizerConfig, {});
  const blank = vocab[named.pad_token];
  if (blank === undefined)
    throw new Error(`${model.path}: the vocabulary has no ${named.pad_token}, the blank of CTC`);
  const marks = new Set([named.pad_token, named.unk_token, named.bos_token, named.eos_token]);
  const letters: string[] = [];
  for (const [letter, id] of Object.entries(vocab))
    if (!marks.has(letter)) letters[id] = named.do_lower_case ? letter.toLowerCase() : letter;
  return { letters, blank, delimiter: named.word_delimiter_token };
}
