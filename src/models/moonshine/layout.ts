import {
  decoderFiles,
  type Layout,
  present,
  readModelConfig,
  requireGraph,
  tokenizerFiles,
} from "../../runtime/packages/layout.js";
import { statedLanguages, voiceDetectorFile } from "../speech-recognition/layout-parts.js";

/** Moonshine, as Optimum and onnx-community have it: encoder and a decoder with caches. */
export const moonshine: Layout = {
  lookedFor: 'config.json of model_type "moonshine" with onnx/encoder_model.onnx',
  async recognise(folder) {
    const config = await readModelConfig(folder);
    if (config?.model_type !== "moonshine") return undefined;
    const { languages, notes } = await statedLanguages(folder);
    const files = present({
      encoder: requireGraph(folder, "encoder_model"),
      ...decoderFiles(folder),
      config: "config.json",
      "preprocessor-config": folder.find("preprocessor_config.json"),
      ...tokenizerFiles(folder),
      ...voiceDetectorFile(folder),
    });
    const shapes = { languages };
    return { modality: "transcription", pipeline: "moonshine", files, shapes, notes };
  },
};
