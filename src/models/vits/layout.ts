import { z } from "zod";
import {
  known,
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
} from "../../runtime/packages/layout.js";
import { numberedVoices } from "../speech/speech-model.js";

const vitsConfig = z.object({
  sampling_rate: z.int().positive(),
  num_speakers: z.int().default(1),
});

/** Transformers' VITS, which MMS voices are made of. */
export const hfVits: Layout = {
  lookedFor: 'config.json of model_type "vits" with onnx/model.onnx',
  async recognise(folder) {
    if ((await readModelConfig(folder))?.model_type !== "vits") return undefined;
    const config = await folder.readJson("config.json", vitsConfig);
    const tokenizerConfig = "tokenizer_config.json";
    const files = present({
      model: requireGraph(folder, "model"),
      config: "config.json",
      tokenizer:
        folder.find("tokenizer.json") ?? requireFile(folder, "vocab.json", "it holds the alphabet"),
      "tokenizer-config": requireFile(
        folder,
        tokenizerConfig,
        "it says whether blanks go between letters",
      ),
    });
    const speakers = config?.num_speakers ?? 1;
    const shapes = known<unknown>({
      sampleRateHz: config?.sampling_rate,
      voices: speakers > 1 ? numberedVoices(speakers) : undefined,
    });
    return { modality: "speech", pipeline: "hf-vits", files, slot: "own", shapes };
  },
};
