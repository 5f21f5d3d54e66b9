import type { PipelineSetup } from "../../core/modality.js";
import { openCtcModel } from "./model.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { createLogMel } from "../../media/mel.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";
import { transcribePhones } from "./transcribe-phones.js";

/** A model that spells phones, read with its lexicon and language model. */
export async function openCtc(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const opened = await openCtcModel(model, setup);
  const logMel = createLogMel(opened.settings.melBins);
  return {
    modelId: model.id,
    languages: [opened.settings.language],
    whyNoWordTimes: undefined,
    maxSeconds: model.limits.maxSeconds,
    transcribe: ({ voiceDetection, ...sound }) =>
      transcribePhones({ ...sound, model: opened, logMel, detection: voiceDetection ?? {} }),
    close: () => opened.close(),
  };
}
