import { z } from "zod";
import {
  decoderFiles,
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
  tokenizerFiles,
} from "../../runtime/packages/layout.js";
import { voiceDetectorFile } from "../speech-recognition/layout-parts.js";

const preprocessor = z.object({
  sampling_rate: z.int().default(16_000),
  feature_size: z.int().default(80),
});

/** Optimum's Whisper: encoder and a merged decoder, or the pair that it is merged from. */
export const whisper: Layout = {
  lookedFor: 'config.json of model_type "whisper" with onnx/encoder_model.onnx',
  async recognise(folder) {
    const config = await readModelConfig(folder);
    if (config?.model_type !== "whisper") return undefined;
    const preprocessing = "preprocessor_config.json";
    requireFile(folder, preprocessing, "it holds the settings of the mel spectrogram");
    const settings = await folder.readJson(preprocessing, preprocessor);
    const files = present({
      encoder: requireGraph(folder, "encoder_model"),
      ...decoderFiles(folder),
      config: "config.json",
      "generation-config": requireFile(folder, "generation_config.json", "it names the languages"),
      "preprocessor-config": preprocessing,
      ...tokenizerFiles(folder),
      ...voiceDetectorFile(folder),
    });
    const shapes = { sampleRateHz: settings?.sampling_rate, melBins: settings?.feature_size };
    return { modality: "transcription", pipeline: "whisper", files, shapes };
  },
};
