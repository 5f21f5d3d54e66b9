import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { PipelineSetup } from "../../core/modality.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { float32, floatsOf, int64Of, type Tensor } from "../../runtime/tensors/tensor.js";
import { gaussianNoise } from "../sampling/noise.js";
import { cutPhonemes } from "../speech/phonemes.js";
import type {
  SpeechModel,
  TextToSpeak,
  Utterance,
  UtteranceSettings,
} from "../speech/speech-model.js";
import {
  type Languages,
  languagesOf,
  SUPERTONIC_STEPS,
  type SupertonicConfig,
  supertonicConfig,
} from "./settings.js";
import { type CharacterIds, idsOf, supertonicText } from "./text.js";

/** Characters in one run, as Supertone cuts texts; of Korean, whose syllables are several. */
const [MAX_CHARACTERS, MAX_KOREAN] = [300, 120];
/** What Supertone's package divides durations by unless it is asked for another speed: it is speed 1 here. */
const PACE = 1.05;
/** The speeds that its package takes. */
const [SLOWEST, FASTEST] = [0.7, 2];
/** Every text begins with the same noise: what was said once is said so again. */
const SEED = 0;
const VOICE_ROLE = "voice-";

const sampler = z.object({ steps: z.int().min(1).max(100).default(SUPERTONIC_STEPS) });
const characterIds = z.array(z.int());

interface OpenVoice {
  readonly session: Graphs;
  readonly config: SupertonicConfig;
  readonly styles: ReadonlyMap<string, Style>;
  readonly steps: number;
}

/** Supertonic: characters to a duration, and noise of that length by flow matching to a waveform. */
export async function openSupertonic(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<SpeechModel> {
  const config = await readModelJson(model, "config", supertonicConfig);
  const characters = await readModelJson(model, "characters", characterIds);
  const { steps } = parseSettings(
    sampler,
    model.sampler ?? {},
    `${model.path}/model.json: sampler`,
  );
  const styles = await readStyles(model);
  const roles = ["duration-predictor", "text-encoder", "vector-estimator", "vocoder"];
  const session = await openModelGraphs(model, roles, setup);
  const languages = languagesOf(config);
  const voice = { session, config, styles, steps };
  return {
    sampleRateHz: config.ae.sample_rate,
    voices: [...styles.keys()],
    speeds: { slowest: SLOWEST / PACE, fastest: FASTEST / PACE, isWhole: false },
    prepare: async (text) => utterancesOf(text, languages, characters),
    synthesize: (utterance, settings) => synthesize(voice, utterance, settings),
    close: () => session.close(),
  };
}

function utterancesOf(
  { text, language }: TextToSpeak,
  { codes, unnamed }: Languages,
  characters: CharacterIds,
): Utterance[] {
  const code = language?.toLowerCase().split(/[-_]/)[0] ?? unnamed ?? "en";
  if (code !== unnamed && !codes.includes(code)) {
    const message = `language must be one of ${codes.join(", ")}, got ${language}`;
    throw new JobError("invalid_value", message, { param: "language" });
  }
  const pieces = cutPhonemes(text, code === "ko" ? MAX_KOREAN : MAX_CHARACTERS);
  return pieces.flatMap((piece) => {
    const said = supertonicText(piece, null);
    const known = Array.from(said).filter((it) => idsOf(it, characters).length > 0);
    if (!known.some((it) => /[\p{L}\p{N}]/u.test(it))) return [];
    const ids = idsOf(supertonicText(piece, unnamed === null ? null : code), characters);
    return [{ ids, tokenCount: ids.length }];
  });
}

async function synthesize(
  { session, config, styles, steps }: OpenVoice,
  { ids }: Utterance,
  { voice, speed }: UtteranceSettings,
): Promise<Float32Array> {
  const style = styles.get(voice);
  if (style === undefined) throw new Error(`the model has no style for the voice ${voice}`);
  const text = { text_ids: int64Of(ids, [1, ids.length]), text_mask: ones([1, 1, ids.length]) };
  const { ae, ttl } = config;
  const timed = await session.run("duration-predictor", { ...text, style_dp: style.duration });
  const seconds = (floatsOf(timed, "duration")[0] ?? 0) / (PACE * speed);
  const samples = Math.floor(Math.fround(Math.fround(seconds) * ae.sample_rate));
  const length = Math.max(1, Math.ceil(samples / (ae.base_chunk_size * ttl.chunk_compress_factor)));
  if (!(samples > 0 && seconds <= MAX_SECONDS)) throw wrongDuration(seconds);
  const { text_emb: read } = await session.run("text-encoder", {
    ...text,
    style_ttl: style.latent,
  });
  if (read === undefined) throw new Error("the text encoder gave no text_emb");
  const dims = [1, ttl.latent_dim * ttl.chunk_compress_factor, length];
  const told = {
    text_emb: read,
    style_ttl: style.latent,
    text_mask: text.text_mask,
    latent_mask: ones([1, 1, length]),
    total_step: float32(Float32Array.of(steps), [1]),
  };
  let latent = gaussianNoise(SEED, (dims[1] ?? 0) * length);
  for (let step = 0; step < steps; step += 1) {
    const outputs = await session.run("vector-estimator", {
      ...told,
      noisy_latent: float32(latent, dims),
      current_step: float32(Float32Array.of(step), [1]),
    });
    latent = floatsOf(outputs, "denoised_latent");
  }
  const sound = await session.run("vocoder", { latent: float32(latent, dims) });
  // Latents are whole, the sound ends within the last.
  return floatsOf(sound, "wav_tts").subarray(0, samples);
}

/** A piece of 300 characters takes about 20 s. */
const MAX_SECONDS = 120;

function wrongDuration(seconds: number): JobError {
  const message = `the duration must be up to ${MAX_SECONDS} s, the model says ${seconds}`;
  return new JobError("invalid_output", message);
}

function ones(dims: readonly number[]): Tensor {
  const length = dims.reduce((product, size) => product * size, 1);
  return float32(new Float32Array(length).fill(1), dims);
}

/** A voice, as both parts of the model are told it. */
interface Style {
  readonly duration: Tensor;
  readonly latent: Tensor;
}

const styleArray = z.object({ dims: z.array(z.int().positive()).length(3), data: z.unknown() });
const voiceStyle = z.object({ style_ttl: styleArray, style_dp: styleArray });

async function readStyles(model: ModelPackage): Promise<ReadonlyMap<string, Style>> {
  const roles = Object.keys(model.files).filter((role) => role.startsWith(VOICE_ROLE));
  if (roles.length === 0) throw new Error(`${model.path} has no voice: add voice_styles/<id>.json`);
  const styles = roles.map(async (role): Promise<[string, Style]> => {
    const stated = await readModelJson(model, role, voiceStyle);
    const tensorOf = ({ dims, data }: z.infer<typeof styleArray>, name: string) => {
      const values = Float32Array.from(flatten(data));
      const length = dims.reduce((product, size) => product * size, 1);
      if (values.length === length && values.every(Number.isFinite)) return float32(values, dims);
      throw new Error(
        `${model.path}/${model.files[role]?.path}: ${name} must hold ${dims.join(" × ")} numbers, has ${values.length}`,
      );
    };
    const duration = tensorOf(stated.style_dp, "style_dp");
    return [
      role.slice(VOICE_ROLE.length),
      { duration, latent: tensorOf(stated.style_ttl, "style_ttl") },
    ];
  });
  return new Map(await Promise.all(styles));
}

function flatten(data: unknown): number[] {
  return Array.isArray(data) ? data.flatMap(flatten) : [Number(data)];
}
