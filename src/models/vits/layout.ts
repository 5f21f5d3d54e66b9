import { z } from "zod";
import {
  known,
  type Layout,
  present,
  requireFile,
  requireGraph,
} from "../../runtime/packages/layout.js";
import { readModelConfig } from "../../runtime/packages/model-config.js";

const piperConfig = z.object({
  audio: z.object({ sample_rate: z.int().positive() }),
  phoneme_id_map: z.record(z.string(), z.unknown()),
  num_speakers: z.int().default(1),
  speaker_id_map: z.record(z.string(), z.int()).default({}),
});

/** Piper: <voice>.onnx with <voice>.onnx.json. */
export const piper: Layout = {
  lookedFor: "<voice>.onnx with <voice>.onnx.json (Piper)",
  async recognise(folder) {
    const pairs = folder
      .matching(/\.onnx\.json$/)
      .filter((path) => folder.has(path.replace(/\.json$/, "")));
    const [config, ...others] = pairs;
    if (config === undefined) return undefined;
    if (others.length > 0)
      throw new Error(`${folder.name} holds the voices ${pairs.join(", ")}: keep one a folder`);
    const settings = await folder.readJson(config, piperConfig);
    const model = config.replace(/\.json$/, "");
    const shapes = known<unknown>({
      sampleRateHz: settings?.audio.sample_rate,
      voices: piperVoices(model, settings),
    });
    const files = { model, config };
    return {
      modality: "speech",
      pipeline: "vits",
      files,
      concurrency: 1,
      slot: "own",
      shapes,
      limits: {},
    };
  },
};

/** The speakers' names, their numbers where they have none, or the name of the only one. */
function piperVoices(model: string, settings: z.infer<typeof piperConfig> | undefined): string[] {
  const { num_speakers = 1, speaker_id_map = {} } = settings ?? {};
  if (num_speakers <= 1) return [model.replace(/^.*\//, "").replace(/\.onnx$/, "")];
  const names = Object.keys(speaker_id_map);
  return names.length > 0 ? names : numbered(num_speakers);
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, id) => String(id));
}

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
      voices: speakers > 1 ? numbered(speakers) : undefined,
    });
    return {
      modality: "speech",
      pipeline: "hf-vits",
      files,
      concurrency: 1,
      slot: "own",
      shapes,
      limits: {},
    };
  },
};
