import { type Layout, requireFile, requireGraph } from "../../runtime/packages/layout.js";
import { SUPERTONIC_STEPS, supertonicConfig } from "./settings.js";

const VOICE = /^voice_styles\/([\w.+-]+)\.json$/;

/** Supertonic as Supertone publishes it: four graphs, two tables, one style file a voice. */
export const supertonic: Layout = {
  lookedFor: "Supertonic's vector_estimator.onnx with tts.json and voice_styles/<id>.json",
  async recognise(folder) {
    const estimator = folder.findGraph("vector_estimator");
    if (estimator === undefined) return undefined;
    const beside = (name: string, why: string) =>
      requireFile(folder, folder.find(`onnx/${name}`, name) ?? `onnx/${name}`, why);
    const config = beside("tts.json", "it states sample rate and latent sizes");
    const characters = beside("unicode_indexer.json", "it has the ids of characters");
    const voices = folder.matching(VOICE);
    if (voices.length === 0)
      throw new Error(
        `${folder.name} has no voice_styles/<id>.json: merge a folder that has them (--with)`,
      );
    const settings = await folder.readJson(config, supertonicConfig);
    const files = {
      "duration-predictor": requireGraph(folder, "duration_predictor"),
      "text-encoder": requireGraph(folder, "text_encoder"),
      "vector-estimator": estimator,
      vocoder: requireGraph(folder, "vocoder"),
      config,
      characters,
      ...Object.fromEntries(voices.map((path) => [`voice-${voiceId(path)}`, path])),
    };
    const shapes = { sampleRateHz: settings?.ae.sample_rate, voices: voices.map(voiceId) };
    const sampler = { steps: SUPERTONIC_STEPS };
    return { modality: "speech", pipeline: "supertonic", files, slot: "own", shapes, sampler };
  },
};

function voiceId(path: string): string {
  return VOICE.exec(path)?.[1] ?? path;
}
