import { Tokenizer } from "@huggingface/tokenizers";
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
import {
  elementCount,
  float32,
  floatsOf,
  int64Of,
  type Tensor,
} from "../../runtime/tensors/tensor.js";
import { gaussianNoise } from "../sampling/noise.js";
import { cutPhonemes } from "../speech/phonemes.js";
import type {
  SpeechModel,
  TextToSpeak,
  Utterance,
  UtteranceSettings,
} from "../speech/speech-model.js";
import {
  hubConfig,
  type Languages,
  languagesBy,
  languagesOf,
  SUPERTONIC_STEPS,
  supertonicConfig,
} from "./settings.js";
import { idsOf, supertonicText } from "./text.js";
import { readStyles, type Styles } from "./voices.js";

/** Characters in one run, as Supertone cuts texts; of Korean, whose syllables are several. */
const [MAX_CHARACTERS, MAX_KOREAN] = [300, 120];
/** What Supertone's package divides durations by unless it is asked for another speed: it is speed 1 here. */
const PACE = 1.05;
/** The speeds that its package takes. */
const [SLOWEST, FASTEST] = [0.7, 2];
/** A piece of 300 characters takes about 20 s. */
const MAX_SECONDS = 120;
/** Every text begins with the same noise: what was said once is said so again. */
const SEED = 0;

const sampler = z.object({ steps: z.int().min(1).max(100).default(SUPERTONIC_STEPS) });

/** Supertonic: characters to a duration, and noise of that length by flow matching to a waveform. */
export async function openSupertonic(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<SpeechModel> {
  const isOfHub = model.files["latent-denoiser"] !== undefined;
  const opened = await (isOfHub ? readHubExport(model) : readSupertoneExport(model));
  const { steps } = parseSettings(
    sampler,
    model.sampler ?? {},
    `${model.path}/model.json: sampler`,
  );
  const { timer, reader, denoiser, decoder } = opened.graphs;
  const roles = [...new Set([timer, reader, denoiser, decoder])];
  const session = await openModelGraphs(model, roles, setup);
  return {
    sampleRateHz: opened.sampleRateHz,
    voices: [...opened.styles.keys()],
    speeds: { slowest: SLOWEST / PACE, fastest: FASTEST / PACE, isWhole: false },
    prepare: async (text) => utterancesOf(text, opened),
    synthesize: (utterance, settings) =>
      synthesize({ ...opened, session, steps }, utterance, settings),
    close: () => session.close(),
  };
}

interface OpenExport {
  readonly sampleRateHz: number;
  /** Samples of one latent. */
  readonly latentSamples: number;
  /** Numbers of one latent. */
  readonly latentSize: number;
  readonly styles: Styles;
  readonly languages: Languages;
  readonly encode: (text: string) => readonly number[];
  readonly graphs: GraphNames;
}

/** Roles of the graphs, and what is read of each. */
interface GraphNames {
  readonly timer: string;
  readonly seconds: string;
  readonly reader: string;
  readonly states: string;
  readonly denoiser: string;
  readonly denoised: string;
  readonly decoder: string;
  readonly sound: string;
  /** Axes of the mask of latents before its length. */
  readonly maskAxes: readonly number[];
}

const SUPERTONE_GRAPHS: GraphNames = {
  timer: "duration-predictor",
  seconds: "duration",
  reader: "text-encoder",
  states: "text_emb",
  denoiser: "vector-estimator",
  denoised: "denoised_latent",
  decoder: "vocoder",
  sound: "wav_tts",
  maskAxes: [1, 1],
};

const HUB_GRAPHS: GraphNames = {
  timer: "text-encoder",
  seconds: "durations",
  reader: "text-encoder",
  states: "last_hidden_state",
  denoiser: "latent-denoiser",
  denoised: "denoised_latents",
  decoder: "sound-decoder",
  sound: "waveform",
  maskAxes: [1],
};

const characterIds = z.array(z.int());

async function readSupertoneExport(model: ModelPackage): Promise<OpenExport> {
  const config = await readModelJson(model, "config", supertonicConfig);
  const characters = await readModelJson(model, "characters", characterIds);
  const { ae, ttl } = config;
  return {
    sampleRateHz: ae.sample_rate,
    latentSamples: ae.base_chunk_size * ttl.chunk_compress_factor,
    latentSize: ttl.latent_dim * ttl.chunk_compress_factor,
    styles: await readStyles(model),
    languages: languagesOf(config),
    encode: (text) => idsOf(text, characters),
    graphs: SUPERTONE_GRAPHS,
  };
}

const tokenizerJson = z.looseObject({
  model: z.looseObject({ vocab: z.record(z.string(), z.int()) }),
});

async function readHubExport(model: ModelPackage): Promise<OpenExport> {
  const config = await readModelJson(model, "config", hubConfig);
  const json = await readModelJson(model, "tokenizer", tokenizerJson);
  const { vocab } = json.model;
  if (vocab["a"] === undefined)
    throw new Error(`${model.path}: the vocabulary of tokenizer.json is none of characters`);
  const tokenizer = new Tokenizer(json, {});
  return {
    sampleRateHz: config.sampling_rate,
    latentSamples: config.base_chunk_size * config.chunk_compress_factor,
    latentSize: config.latent_dim * config.chunk_compress_factor,
    styles: await readStyles(model, config.style_dim),
    languages: languagesBy((character) => vocab[character] !== undefined),
    encode: (text) => tokenizer.encode(text).ids,
    graphs: HUB_GRAPHS,
  };
}

function utterancesOf(
  { text, language }: TextToSpeak,
  { languages: { codes, unnamed }, encode }: OpenExport,
): Utterance[] {
  const code = language?.toLowerCase().split(/[-_]/)[0] ?? unnamed ?? "en";
  if (code !== unnamed && !codes.includes(code)) {
    const message = `language must be one of ${codes.join(", ")}, got ${language}`;
    throw new JobError("invalid_value", message, { param: "language" });
  }
  const pieces = cutPhonemes(text, code === "ko" ? MAX_KOREAN : MAX_CHARACTERS);
  return pieces.flatMap((piece) => {
    const letters = supertonicText(piece, null).match(/[\p{L}\p{N}]/gu) ?? [];
    if (!letters.some((letter) => encode(letter).length > 0)) return [];
    const ids = encode(supertonicText(piece, unnamed === null ? null : code));
    return [{ ids, tokenCount: ids.length }];
  });
}

interface OpenVoice extends OpenExport {
  readonly session: Graphs;
  readonly steps: number;
}

async function synthesize(
  { session, graphs, steps, styles, ...sizes }: OpenVoice,
  { ids }: Utterance,
  { voice, speed }: UtteranceSettings,
): Promise<Float32Array> {
  const style = styles.get(voice);
  if (style === undefined) throw new Error(`the model has no style for the voice ${voice}`);
  const [text, seen] = [int64Of(ids, [1, ids.length]), ids.map(() => 1)];
  const said = {
    ...style,
    text_ids: text,
    text_mask: ones([1, 1, ids.length]),
    input_ids: text,
    attention_mask: int64Of(seen, [1, ids.length]),
  };
  const timed = await session.run(graphs.timer, said);
  const read = graphs.reader === graphs.timer ? timed : await session.run(graphs.reader, said);
  const states = read[graphs.states];
  if (states === undefined) throw new Error(`the graph ${graphs.reader} gave no ${graphs.states}`);
  const seconds = (floatsOf(timed, graphs.seconds)[0] ?? 0) / (PACE * speed);
  const samples = Math.floor(Math.fround(Math.fround(seconds) * sizes.sampleRateHz));
  if (!(samples > 0 && seconds <= MAX_SECONDS)) throw wrongDuration(seconds);
  const length = Math.ceil(samples / sizes.latentSamples);
  const dims = [1, sizes.latentSize, length];
  const count = float32(Float32Array.of(steps), [1]);
  const same = {
    ...said,
    text_emb: states,
    encoder_outputs: states,
    latent_mask: ones([...graphs.maskAxes, length]),
    total_step: count,
    num_inference_steps: count,
  };
  let latent = float32(gaussianNoise(SEED, sizes.latentSize * length), dims);
  for (let step = 0; step < steps; step += 1) {
    const at = float32(Float32Array.of(step), [1]);
    const now = { noisy_latent: latent, noisy_latents: latent, current_step: at, timestep: at };
    const outputs = await session.run(graphs.denoiser, { ...same, ...now });
    latent = float32(floatsOf(outputs, graphs.denoised), dims);
  }
  const sound = await session.run(graphs.decoder, { latent, latents: latent });
  // Latents are whole, the sound ends within the last.
  return floatsOf(sound, graphs.sound).subarray(0, samples);
}

function wrongDuration(seconds: number): JobError {
  const message = `the duration must be up to ${MAX_SECONDS} s, the model says ${seconds}`;
  return new JobError("invalid_output", message);
}

function ones(dims: readonly number[]): Tensor {
  return float32(new Float32Array(elementCount(dims)).fill(1), dims);
}
