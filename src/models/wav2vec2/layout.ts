import { z } from "zod";
import {
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
} from "../../runtime/packages/layout.js";
import { statedLanguages, voiceDetectorFile } from "../speech-recognition/layout-parts.js";

/** Kinds that hear raw samples through the same convolutions. */
const TYPES = new Set([
  "wav2vec2",
  "wav2vec2-conformer",
  "hubert",
  "wavlm",
  "data2vec-audio",
  "unispeech",
  "unispeech-sat",
  "sew",
  "sew-d",
]);

const vocabulary = z.record(z.string(), z.unknown());
const tokenizerConfig = z.object({ tokenizer_class: z.string().nullish() });

/** Optimum's …ForCTC of wav2vec2, HuBERT and their kin: samples to letters. */
export const wav2vec2: Layout = {
  lookedFor:
    "config.json of a …ForCTC of wav2vec2, HuBERT or WavLM with onnx/model.onnx and vocab.json",
  async recognise(folder) {
    const config = await readModelConfig(folder);
    const [architecture = ""] = config?.architectures ?? [];
    if (!TYPES.has(config?.model_type ?? "") || !architecture.endsWith("ForCTC")) return undefined;
    const letters = "it lists the letters";
    const vocab = folder.find("tokenizer.json")
      ? folder.find("vocab.json")
      : requireFile(folder, "vocab.json", letters);
    await refuseOtherSpelling(folder, vocab);
    const { languages, notes } = await statedLanguages(folder);
    const files = present({
      model: requireGraph(folder, "model"),
      config: "config.json",
      "preprocessor-config": requireFile(
        folder,
        "preprocessor_config.json",
        "it says whether samples are normalised",
      ),
      vocab,
      tokenizer: vocab === undefined ? "tokenizer.json" : undefined,
      "tokenizer-config": folder.find("tokenizer_config.json"),
      ...voiceDetectorFile(folder),
    });
    return { modality: "transcription", pipeline: "wav2vec2", files, shapes: { languages }, notes };
  },
};

async function refuseOtherSpelling(
  folder: Parameters<Layout["recognise"]>[0],
  vocab: string | undefined,
): Promise<void> {
  const { tokenizer_class: kind } =
    (await folder.readJson("tokenizer_config.json", tokenizerConfig)) ?? {};
  if (kind?.includes("Phoneme"))
    throw new Error(
      `${folder.name} spells phonemes (${kind}), which no word can be read from: models of letters are served`,
    );
  const entries = vocab === undefined ? {} : await folder.readJson(vocab, vocabulary);
  const nested = Object.entries(entries ?? {}).find(([, id]) => typeof id !== "number");
  if (nested !== undefined)
    throw new Error(
      `${folder.name}/vocab.json holds a vocabulary a language (${nested[0]} …): keep that of the adapter the graph was exported with`,
    );
}
