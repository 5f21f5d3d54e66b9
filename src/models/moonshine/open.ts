import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { SPEECH_RATE_HZ } from "../../media/mel.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import { float32, int64Of } from "../../runtime/tensors/tensor.js";
import {
  createCachedDecoder,
  type CachedDecoder,
  decoderRoles,
} from "../speech-recognition/cached-decoder.js";
import { likeliest } from "../speech-recognition/ctc-tokens.js";
import { normaliseSamples } from "../speech-recognition/normalise-samples.js";
import {
  createStretchRecogniser,
  type HeardToken,
} from "../speech-recognition/transcribe-stretches.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";
import { loadModelTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";

const NO_TIMES = "the model says what was said, not when";

/** Tokens a second beyond which a text only repeats itself (cards of moonshine-tiny and moonshine-tiny-ar). */
const ENGLISH_TOKENS = 6.5;
const OTHER_TOKENS = 13;

const config = z.object({
  hidden_size: z.int(),
  decoder_num_attention_heads: z.int(),
  decoder_num_key_value_heads: z.int().nullish(),
  max_position_embeddings: z.int().default(194),
  decoder_start_token_id: z.int().default(1),
  eos_token_id: z.int().default(2),
});
const features = z.object({ do_normalize: z.boolean().nullish() });
const shapes = z.object({ languages: z.array(z.string()) });

/** Moonshine: raw samples to text, without times. */
export async function openMoonshine(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const settings = await readModelJson(model, "config", config);
  const { do_normalize: isNormalised } = await readModelJson(
    model,
    "preprocessor-config",
    features,
    {},
  );
  const { languages } = shapes.parse(model.shapes);
  const tokenizer = await loadModelTokenizer(model);
  const roles = decoderRoles(model.files);
  const names = [...new Set(["encoder", roles.promptRole, roles.stepRole])];
  const thread = await openModelGraphs(model, names, setup);
  const heads = settings.decoder_num_attention_heads;
  const headSize = settings.hidden_size / heads;
  const graphs = {
    thread,
    ...roles,
    heads: settings.decoder_num_key_value_heads ?? heads,
    headSize,
  };
  const tokensASecond = languages.includes("en") ? ENGLISH_TOKENS : OTHER_TOKENS;
  return await createStretchRecogniser(model, setup, {
    whyNoWordTimes: NO_TIMES,
    async hear(samples, { signal }) {
      const decoder = createCachedDecoder(graphs);
      try {
        const mask = int64Of(new Uint8Array(samples.length).fill(1), [1, samples.length]);
        const heard = isNormalised ? normaliseSamples(samples) : samples;
        const inputs = { input_values: float32(heard, [1, samples.length]), attention_mask: mask };
        await decoder.encode(inputs, { encoder_attention_mask: mask });
        const most = Math.floor((samples.length / SPEECH_RATE_HZ) * tokensASecond);
        const maxTokens = Math.max(1, Math.min(most, settings.max_position_embeddings) - 1);
        const found = await decodeGreedily(decoder, { ...settings, maxTokens, signal });
        return { tokens: spell(found, tokenizer) };
      } finally {
        decoder.close();
      }
    },
    close: () => thread.close(),
  });
}

interface Decoding extends Pick<z.infer<typeof config>, "decoder_start_token_id" | "eos_token_id"> {
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

type Found = Pick<HeardToken, "id" | "logprob">;

async function decodeGreedily(
  decoder: CachedDecoder,
  { decoder_start_token_id: start, eos_token_id: end, maxTokens, signal }: Decoding,
): Promise<Found[]> {
  const found: Found[] = [];
  let logits = await decoder.start([start]);
  while (found.length < maxTokens) {
    signal.throwIfAborted();
    const next = likeliest(logits);
    if (next.id === end) break;
    found.push(next);
    if (found.length < maxTokens) logits = await decoder.step(next.id);
  }
  return found;
}

/** Each token with the text that it adds; what is a part of a character adds none before the last part. */
function spell(found: readonly Found[], tokenizer: TextTokenizer): HeardToken[] {
  const ids = found.map(({ id }) => id);
  const startsWord = tokenizer.tokenOf(ids[0] ?? -1)?.startsWith("▁") ?? false;
  let before = "";
  return found.map((token, at) => {
    const said = tokenizer.decode(ids.slice(0, at + 1));
    const isPart = said.endsWith("\u{fffd}") && at + 1 < ids.length;
    const text = isPart ? "" : said.slice(before.length);
    if (!isPart) before = said;
    return { ...token, text: at === 0 && startsWord ? ` ${text.trimStart()}` : text };
  });
}
