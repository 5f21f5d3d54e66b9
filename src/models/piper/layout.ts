import { z } from "zod";
import { known, type Layout } from "../../runtime/packages/layout.js";
import { numberedVoices } from "../speech/speech-model.js";

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
    return { modality: "speech", pipeline: "vits", files, slot: "own", shapes };
  },
};

/** The speakers' names, their numbers where they have none, or the name of the only one. */
function piperVoices(model: string, settings: z.infer<typeof piperConfig> | undefined): string[] {
  const { num_speakers = 1, speaker_id_map = {} } = settings ?? {};
  if (num_speakers <= 1) return [model.replace(/^.*\//, "").replace(/\.onnx$/, "")];
  const names = Object.keys(speaker_id_map);
  return names.length > 0 ? names : numberedVoices(num_speakers);
}
