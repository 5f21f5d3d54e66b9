import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  concatFloats,
  float32,
  floatsOf,
  int64Of,
  type Tensor,
} from "../../runtime/tensors/tensor.js";
import { promptNotes } from "../diffusion/prompt-encoders.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { guide } from "../diffusion/schedulers/flow-match.js";
import type { LtxSettings } from "./settings.js";

/** Latents of a clip: frames, rows and columns of its picture, times of its sound. */
export interface LatentDims {
  readonly frames: number;
  readonly rows: number;
  readonly columns: number;
  readonly times: number;
}

/** What the transformer reads of a prompt, for the picture and for the sound: [1, tokens, features]. */
export interface PromptStates {
  readonly picture: Tensor;
  readonly sound: Tensor;
  /** What of the prompt was not read, in sentences for the caller. */
  readonly notes: readonly string[];
}

/** What the model is asked at a step. */
interface Question {
  /** Tokens of the picture [frames × rows × columns, features], then of the sound [times, features]. */
  readonly sample: Float32Array;
  readonly timestep: number;
  /** The prompt, then what to move away from; that one is missing where nothing is guided. */
  readonly prompts: readonly [PromptStates, ...PromptStates[]];
  /** Whether the first frame is a picture's, which is without noise at every step. */
  readonly isFirstFrameGiven: boolean;
}

/** Its guided answer, as the sample. */
export type Denoiser = (question: Question) => Promise<Float32Array>;

const INPUTS = [
  "hidden_states",
  "audio_hidden_states",
  "encoder_hidden_states",
  "audio_encoder_hidden_states",
  "timestep",
  "audio_timestep",
  "video_coords",
  "audio_coords",
];
const OUTPUTS = ["sample", "audio_sample"] as const;

/** Throws an error that names the inputs which the graph lacks. */
export function checkDenoiser({ info }: Pick<Graphs, "info">): void {
  const names = info["denoiser"]?.inputs.map(({ name }) => name) ?? [];
  const missing = INPUTS.filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw new Error(`the graph transformer has no input ${missing.join(", ")}: it must be LTX-2's`);
}

/** The transformer for clips of one size; prompts share its runs. */
export function createDenoiser(
  sessions: Pick<Graphs, "run">,
  settings: LtxSettings,
  dims: LatentDims,
): Denoiser {
  const { picture, sound, sampler } = settings;
  const frameTokens = dims.rows * dims.columns;
  const tokens = dims.frames * frameTokens;
  const [pictureDims, soundDims] = [
    [tokens, picture.mean.length],
    [dims.times, sound.mean.length],
  ];
  const places = pictureCoordinates(settings, dims);
  const times = soundCoordinates(settings, dims);
  return async ({ sample, timestep, prompts, isFirstFrameGiven }) => {
    const rows = prompts.length;
    const forEach = (values: Float32Array, of: readonly number[]): Tensor =>
      float32(concatFloats(prompts.map(() => values)), [rows, ...of]);
    const end = tokens * picture.mean.length;
    const timesteps = isFirstFrameGiven
      ? new Float32Array(tokens).fill(timestep, frameTokens)
      : Float32Array.of(timestep);
    const outputs = await sessions.run(
      "denoiser",
      {
        hidden_states: forEach(sample.subarray(0, end), pictureDims),
        audio_hidden_states: forEach(sample.subarray(end), soundDims),
        encoder_hidden_states: sideBySide(prompts.map((prompt) => prompt.picture)),
        audio_encoder_hidden_states: sideBySide(prompts.map((prompt) => prompt.sound)),
        timestep: forEach(timesteps, [timesteps.length]),
        audio_timestep: forEach(Float32Array.of(timestep), []),
        video_coords: forEach(places, [3, tokens, 2]),
        audio_coords: forEach(times, [1, dims.times, 2]),
      },
      { fetch: [...OUTPUTS] },
    );
    const guided = (name: (typeof OUTPUTS)[number], guidance: number) => {
      const answers = floatsOf(outputs, name);
      return rows === 1 ? answers : guide(answers, guidance);
    };
    return concatFloats([
      guided("sample", sampler.guidance),
      guided("audio_sample", sampler.audioGuidance),
    ]);
  };
}

/** States [1, tokens, features] of one length as [rows, tokens, features]. */
function sideBySide(states: readonly Tensor[]): Tensor {
  const [, ...dims] = states[0]?.dims ?? [];
  const values = states.map((tensor) => floatsOf({ states: tensor }, "states"));
  return float32(concatFloats(values), [states.length, ...dims]);
}

/**
 * Where each token of the picture begins and ends, [3, tokens, 2]: seconds, then pixels from the top and
 * from the left. The first latent frame is of one frame only.
 */
function pictureCoordinates(
  { places, shapes }: LtxSettings,
  { frames, rows, columns }: LatentDims,
): Float32Array {
  const [stride, height, width] = places.vae_scale_factors;
  const seconds = (frame: number) =>
    Math.max(0, frame * stride + places.causal_offset - stride) / shapes.frameRate;
  const spans: readonly ((frame: number, row: number, column: number) => [number, number])[] = [
    (frame) => [seconds(frame), seconds(frame + 1)],
    (_, row) => [row * height, (row + 1) * height],
    (_, __, column) => [column * width, (column + 1) * width],
  ];
  const coordinates = new Float32Array(3 * frames * rows * columns * 2);
  let at = 0;
  for (const spanOf of spans)
    for (let frame = 0; frame < frames; frame += 1)
      for (let row = 0; row < rows; row += 1)
        for (let column = 0; column < columns; column += 1, at += 2)
          coordinates.set(spanOf(frame, row, column), at);
  return coordinates;
}

/** When each token of the sound begins and ends, [1, times, 2], seconds. */
function soundCoordinates({ places }: LtxSettings, { times }: LatentDims): Float32Array {
  const {
    causal_offset: offset,
    audio_scale_factor: stride,
    audio_hop_length: hop,
    audio_sampling_rate: rate,
  } = places;
  const seconds = (time: number) => (Math.max(0, time * stride + offset - stride) * hop) / rate;
  return Float32Array.from({ length: 2 * times }, (_, at) => seconds((at >> 1) + (at % 2)));
}

export type EncodePrompt = (text: string) => Promise<PromptStates>;

const [PICTURE, SOUND] = ["video_states", "audio_states"] as const;

/**
 * Gemma's states of all layers, then the connectors, which fill a prompt up with registers: no padding
 * comes into it. Throws an error where the connectors do not say how many tokens they fill up to.
 */
export function createPromptEncoder(sessions: Graphs, tokenizer: TextTokenizer): EncodePrompt {
  const declared = sessions.info["connectors"]?.outputs.find(({ name }) => name === PICTURE);
  const maxTokens = declared?.dims[1];
  if (typeof maxTokens !== "number")
    throw new Error(`the graph connectors must state the tokens of its output ${PICTURE}`);
  return async (text) => {
    const plain = text.trim();
    const { ids } = tokenizer.encode(plain, { maxTokens });
    const feeds = { input_ids: int64Of(ids, [1, ids.length]) };
    const states = await sessions.run("text-encoder", feeds);
    const outputs = await sessions.run("connectors", states);
    return {
      picture: get(outputs[PICTURE], PICTURE),
      sound: get(outputs[SOUND], SOUND),
      notes: promptNotes(tokenizer, plain, maxTokens),
    };
  };
}

function get(states: Tensor | undefined, name: string): Tensor {
  if (states === undefined) throw new TypeError(`the graph connectors has no output ${name}`);
  return states;
}
