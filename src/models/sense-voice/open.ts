import { join } from "node:path";
import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { HOP_SAMPLES, SPEECH_RATE_HZ } from "../../media/mel.js";
import { readOnnxOutline } from "../../runtime/onnx/onnx-outline.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { readCtcTokens } from "../speech-recognition/ctc-tokens.js";
import { parseTokenList } from "../speech-recognition/token-list.js";
import { createStretchRecogniser } from "../speech-recognition/transcribe-stretches.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";
import { createSenseVoiceFeatures } from "./features.js";

const BLANK = 0;
/** Steps before those of the sound: language, emotion, event, and whether numbers were written out. */
const TAGS = 4;

/** SenseVoice: filter bank energies to pieces of words, one frame every 60 ms in the published one. */
export async function openSenseVoice(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const settings = readSettings(model);
  const { texts, marks } = parseTokenList(await readModelText(model, "tokens"));
  const featuresOf = createSenseVoiceFeatures(settings);
  const stepSeconds = (settings.shiftFrames * HOP_SAMPLES) / SPEECH_RATE_HZ;
  const graphs = await openModelGraphs(model, ["model"], setup);
  return await createStretchRecogniser(model, setup, {
    async hear(samples, { language }) {
      const { values, steps, width: size } = featuresOf(samples);
      const asked = language === null ? undefined : settings.languages.get(language);
      const feeds = {
        x: float32(values, [1, steps, size]),
        x_length: int64Of([steps], [1]),
        language: int64Of([asked ?? settings.anyLanguage], [1]),
        text_norm: int64Of([settings.writtenNumbers], [1]),
      };
      const outputs = await graphs.run("model", feeds, { fetch: ["logits"] });
      const logits = floatsOf(outputs, "logits");
      const width = outputs["logits"]?.dims.at(-1) ?? 1;
      const read = (from: number, frames: number) =>
        readCtcTokens({ logits: logits.subarray(from * width), width, blank: BLANK, frames });
      const tokens = read(TAGS, steps).flatMap(({ id, first, end, logprob }) => {
        const text = texts[id];
        const place = { startSeconds: first * stepSeconds, endSeconds: end * stepSeconds };
        return text === undefined ? [] : [{ id, text, logprob, place }];
      });
      const heard = marks.get(read(0, 1)[0]?.id ?? BLANK);
      const isKnown = heard !== undefined && settings.languages.has(heard);
      return { tokens, ...(isKnown && { language: heard }) };
    },
    close: () => graphs.close(),
  });
}

const numbers = z
  .string()
  .transform((list) => list.split(",").map(Number))
  .refine((list) => list.every(Number.isFinite), "must be numbers between commas");
const metadata = z.object({
  lfr_window_size: z.coerce.number().int().positive(),
  lfr_window_shift: z.coerce.number().int().positive(),
  normalize_samples: z.coerce.number().default(0),
  neg_mean: numbers,
  inv_stddev: numbers,
  lang_auto: z.coerce.number().int(),
  with_itn: z.coerce.number().int(),
});

/** What the exporter wrote into the graph. Throws an error that names what is missing. */
function readSettings(model: ModelPackage) {
  const path = join(model.path, model.files["model"]?.path ?? "");
  const stated = readOnnxOutline(path).metadata;
  const parsed = parseSettings(metadata, stated, `the metadata of ${path}`);
  const languages = Object.entries(stated).flatMap(([key, id]): [string, number][] => {
    const code = /^lang_([a-z]{2,3})$/.exec(key)?.[1];
    return code === undefined ? [] : [[code, Number(id)]];
  });
  return {
    windowFrames: parsed.lfr_window_size,
    shiftFrames: parsed.lfr_window_shift,
    scale: parsed.normalize_samples === 0 ? 32_768 : 1,
    negativeMeans: parsed.neg_mean,
    inverseDeviations: parsed.inv_stddev,
    languages: new Map(languages),
    anyLanguage: parsed.lang_auto,
    writtenNumbers: parsed.with_itn,
  };
}
