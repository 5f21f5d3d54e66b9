import { Tokenizer } from "@huggingface/tokenizers";
import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { PipelineSetup } from "../../core/modality.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { cutPhonemes, espeakVoice, phonemizeText, settleMarks } from "../speech/phonemes.js";
import {
  numberedVoices,
  SOLE_VOICE,
  type SpeechModel,
  type TextToSpeak,
  type Utterance,
} from "../speech/speech-model.js";

/** Characters in one run: the graph's memory grows with the square. */
const MAX_CHARACTERS = 300;

const modelConfig = z.object({
  sampling_rate: z.int().min(1_000),
  num_speakers: z.int().default(1),
});

const tokenizerConfig = z.looseObject({
  add_blank: z.boolean().default(true),
  normalize: z.boolean().default(true),
  phonemize: z.boolean().default(false),
  is_uroman: z.boolean().default(false),
  language: z.string().nullish(),
});

export type VitsTokenizerConfig = z.infer<typeof tokenizerConfig>;

/** Text, or its phonemes, to ids with the blanks that the model was trained with. */
export type EncodeText = (text: string) => readonly number[];

/** MMS and other VITS of the transformers library: ids to a waveform, at its own speed only. */
export async function openHfVits(model: ModelPackage, setup: PipelineSetup): Promise<SpeechModel> {
  const config = await readModelJson(model, "config", modelConfig);
  const settings = await readModelJson(model, "tokenizer-config", tokenizerConfig, {});
  const encode = vitsEncoder(await readModelJson(model, "tokenizer", anyObject), settings);
  const session = await openModelGraphs(model, ["model"], setup);
  const speakers = numberedVoices(config.num_speakers);
  return {
    sampleRateHz: config.sampling_rate,
    voices: speakers.length > 1 ? speakers : [SOLE_VOICE],
    speeds: { slowest: 1, fastest: 1, isWhole: true },
    prepare: async (text) =>
      utterancesOf(await readAloud(text, settings, setup.espeakPath), encode),
    synthesize: (utterance, { voice }) => synthesize(session, utterance, voice),
    close: () => session.close(),
  };
}

const anyObject = z.record(z.string(), z.unknown());
const vocabulary = z.record(z.string(), z.int());

/**
 * From a tokenizer.json, which does everything itself, or from the vocab.json of the library's own
 * tokenizer: characters that it knows, id 0 before, between and behind them (`add_blank`).
 */
export function vitsEncoder(json: object, config: VitsTokenizerConfig): EncodeText {
  if ("model" in json) {
    const tokenizer = new Tokenizer(json, config);
    return (text) => tokenizer.encode(text).ids;
  }
  const vocab = vocabulary.parse(json);
  return (text) => {
    const settled = config.normalize && !config.phonemize ? text.toLowerCase() : text;
    const ids = Array.from(settled).flatMap((character) => vocab[character] ?? []);
    return config.add_blank && ids.length > 0 ? [0, ...ids.flatMap((id) => [id, 0])] : ids;
  };
}

async function readAloud(
  { text, language, signal }: TextToSpeak,
  config: VitsTokenizerConfig,
  espeakPath: string,
): Promise<string> {
  if (config.phonemize) {
    const voice = espeakVoice(language ?? config.language ?? "en-us");
    return phonemizeText(text, { espeakPath, voice, signal });
  }
  const settled = settleMarks(text);
  if (config.is_uroman && /(?!\p{Script=Latin})\p{L}/u.test(settled)) {
    const message = "input must be in Latin letters (uroman) for this voice";
    throw new JobError("invalid_value", message, { param: "input" });
  }
  return settled;
}

function utterancesOf(text: string, encode: EncodeText): Utterance[] {
  return cutPhonemes(text, MAX_CHARACTERS)
    .map((piece) => ({ ids: encode(piece), tokenCount: Array.from(piece).length }))
    .filter(({ ids }) => ids.some((id) => id !== 0));
}

async function synthesize(
  session: Graphs,
  { ids }: Utterance,
  voice: string,
): Promise<Float32Array> {
  const dims = [1, ids.length];
  const speaker = /^\d+$/.test(voice) ? Number(voice) : 0;
  const outputs = await session.run(
    "model",
    {
      input_ids: int64Of(ids, dims),
      attention_mask: int64Of(
        ids.map(() => 1),
        dims,
      ),
      speaker_id: int64Of([speaker], [1]),
    },
    { fetch: ["waveform"] },
  );
  return floatsOf(outputs, "waveform");
}
