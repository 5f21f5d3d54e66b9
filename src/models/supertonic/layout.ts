import { posix } from "node:path";
import { type Layout, requireFile, requireGraph } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { hubConfig, SUPERTONIC_STEPS, supertonicConfig } from "./settings.js";

/** Supertonic as Supertone publishes it, or as onnx-community exports it for transformers.js. */
export const supertonic: Layout = {
  lookedFor:
    "Supertonic's vector_estimator.onnx with tts.json and voice_styles/<id>.json, or its latent_denoiser.onnx with voices/<id>.bin",
  async recognise(folder) {
    const found = (await ofSupertone(folder)) ?? (await ofHub(folder));
    if (found === undefined) return undefined;
    const { files, voices, sampleRateHz } = found;
    const shapes = { sampleRateHz, voices: Object.keys(voices) };
    const roles = Object.entries(voices).map(([voice, path]) => [`voice-${voice}`, path]);
    return {
      modality: "speech",
      pipeline: "supertonic",
      files: { ...files, ...Object.fromEntries(roles) },
      slot: "own",
      shapes,
      sampler: { steps: SUPERTONIC_STEPS },
    };
  },
};

interface Found {
  readonly files: Readonly<Record<string, string>>;
  /** Voice → path. */
  readonly voices: Readonly<Record<string, string>>;
  readonly sampleRateHz: number | undefined;
}

/** Four graphs, two tables, one style file a voice. */
async function ofSupertone(folder: ModelFolder): Promise<Found | undefined> {
  const estimator = folder.findGraph("vector_estimator");
  if (estimator === undefined) return undefined;
  const beside = (name: string, why: string) =>
    requireFile(folder, folder.find(`onnx/${name}`, name) ?? `onnx/${name}`, why);
  const config = beside("tts.json", "it states sample rate and latent sizes");
  const files = {
    "duration-predictor": requireGraph(folder, "duration_predictor"),
    "text-encoder": requireGraph(folder, "text_encoder"),
    "vector-estimator": estimator,
    vocoder: requireGraph(folder, "vocoder"),
    config,
    characters: beside("unicode_indexer.json", "it has the ids of characters"),
  };
  const voices = requireVoices(folder, "voice_styles", "json");
  const settings = await folder.readJson(config, supertonicConfig);
  return { files, voices, sampleRateHz: settings?.ae.sample_rate };
}

/** Three graphs, a tokenizer, one table of styles a voice. */
async function ofHub(folder: ModelFolder): Promise<Found | undefined> {
  const denoiser = folder.findGraph("latent_denoiser");
  if (denoiser === undefined) return undefined;
  const settings = await folder.readJson("config.json", hubConfig);
  if (settings === undefined)
    throw new Error(`${folder.name} has no config.json: it states sample rate and latent sizes`);
  const files = {
    "text-encoder": requireGraph(folder, "text_encoder"),
    "latent-denoiser": denoiser,
    "sound-decoder": requireGraph(folder, "voice_decoder"),
    config: "config.json",
    tokenizer: requireFile(folder, "tokenizer.json", "it has the ids of characters"),
  };
  const voices = requireVoices(folder, "voices", "bin");
  return { files, voices, sampleRateHz: settings.sampling_rate };
}

function requireVoices(
  folder: ModelFolder,
  place: string,
  ending: string,
): Readonly<Record<string, string>> {
  const paths = folder
    .matching(/^[\w-]+\/[\w.+-]+$/)
    .filter((path) => path.startsWith(`${place}/`) && path.endsWith(`.${ending}`));
  const voices = paths.map((path) => [posix.basename(path, `.${ending}`), path] as const);
  if (voices.length > 0) return Object.fromEntries(voices);
  throw new Error(
    `${folder.name} has no ${place}/<id>.${ending}: merge a folder that has them (--with)`,
  );
}
