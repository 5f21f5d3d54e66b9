import { type Layout, present } from "../../runtime/packages/layout.js";
import { voiceDetectorFile } from "../speech-recognition/layout-parts.js";

/** SenseVoice as sherpa-onnx exports it: one graph with its settings in it, and a list of pieces. */
export const senseVoice: Layout = {
  lookedFor: "SenseVoice's model.onnx of x, x_length, language and text_norm with tokens.txt",
  async recognise(folder) {
    const model = folder.find("model.onnx", "model.int8.onnx");
    if (model === undefined || !folder.has("tokens.txt")) return undefined;
    const { inputs, metadata } = folder.outline(model);
    if (!inputs.some(({ name }) => name === "text_norm")) return undefined;
    const languages = Object.keys(metadata).flatMap(
      (key) => /^lang_([a-z]{2,3})$/.exec(key)?.[1] ?? [],
    );
    if (languages.length === 0 || metadata["neg_mean"] === undefined)
      throw new Error(
        `${folder.name}/${model} lacks what sherpa-onnx writes into it: lang_<code>, neg_mean and inv_stddev`,
      );
    const files = present({ model, tokens: "tokens.txt", ...voiceDetectorFile(folder) });
    const shapes = { languages };
    return { modality: "transcription", pipeline: "sense-voice", files, shapes };
  },
};
