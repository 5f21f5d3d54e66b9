import { z } from "zod";
import { parseSettings } from "../../runtime/packages/parse-settings.js";

/** The part of a MusicGen config.json that its loop must know. */
const config = z.object({
  decoder: z.object({
    num_codebooks: z.int().positive(),
    /** 2 in the stereo models, whose codebooks alternate between left and right. */
    audio_channels: z.union([z.literal(1), z.literal(2)]).default(1),
    vocab_size: z.int().positive(),
    pad_token_id: z.int().nonnegative(),
    hidden_size: z.int().positive(),
    num_attention_heads: z.int().positive(),
    max_position_embeddings: z.int().positive(),
  }),
  audio_encoder: z.object({
    sampling_rate: z.int().positive(),
    upsampling_ratios: z.array(z.int().positive()).min(1),
    audio_channels: z.literal(1, "must be 1: stereo is decoded channel by channel").default(1),
  }),
});

/** What published generation_config.json files set; `null` stands for the reference's default. */
const generation = z.object({
  do_sample: z.boolean().nullish(),
  guidance_scale: z.number().nullish(),
  top_k: z.int().nonnegative().nullish(),
  temperature: z.number().positive().nullish(),
});

/** Length of the pieces that every published MusicGen was trained on (arXiv 2306.05284, section 4.1). */
const TRAINED_SECONDS = 30;
/** Share of a window that is new when a piece goes on: audiocraft's `extend_stride` 18 of 30 s. */
const STRIDE_FRACTION = 0.6;
/** Sampling of the reference (audiocraft `set_generation_params`). */
const REFERENCE = { guidance: 3, topK: 250, temperature: 1 } as const;

export interface CodeSampling {
  /** Logits are uncond + guidance × (cond − uncond); 1 runs the conditional half alone. */
  readonly guidance: number;
  /** Codes to choose from; 1 is greedy, 0 is all. */
  readonly topK: number;
  readonly temperature: number;
}

export interface MusicgenSettings {
  /** Rows of codes, those of both channels together. */
  readonly codebooks: number;
  readonly channels: 1 | 2;
  /** What stands before a row's first code and after its last. */
  readonly padId: number;
  readonly heads: number;
  readonly headSize: number;
  readonly sampleRateHz: number;
  /** Samples that one frame of codes becomes. */
  readonly frameSamples: number;
  /** Frames made in one go. */
  readonly windowFrames: number;
  /** Last frames of a window that begin the next one. */
  readonly overlapFrames: number;
  readonly sampling: CodeSampling;
}

/** Reads config.json and generation_config.json. Throws an error that names the file and the field. */
export function parseMusicgenSettings(
  configJson: unknown,
  generationJson: unknown,
  folder = ".",
): MusicgenSettings {
  const path = `${folder}/config.json`;
  const { decoder, audio_encoder: codec } = parseSettings(config, configJson, path);
  const chosen = parseSettings(generation, generationJson, `${folder}/generation_config.json`);
  const frameSamples = codec.upsampling_ratios.reduce((product, ratio) => product * ratio, 1);
  const channels = decoder.audio_channels;
  if (decoder.num_codebooks % channels !== 0)
    throw new Error(
      `${path}: decoder.num_codebooks must be even for 2 channels, got ${decoder.num_codebooks}`,
    );
  const trainedFrames = Math.floor((TRAINED_SECONDS * codec.sampling_rate) / frameSamples);
  // The last column is never fed, so one more column than positions fits.
  const positionedFrames =
    decoder.max_position_embeddings + 1 - (1 + decoder.num_codebooks / channels);
  const windowFrames = Math.min(trainedFrames, positionedFrames);
  if (windowFrames < 2)
    throw new Error(
      `${path}: decoder.max_position_embeddings ${decoder.max_position_embeddings} leaves no room for ${decoder.num_codebooks} codebooks`,
    );
  return {
    codebooks: decoder.num_codebooks,
    channels,
    padId: decoder.pad_token_id,
    heads: decoder.num_attention_heads,
    headSize: decoder.hidden_size / decoder.num_attention_heads,
    sampleRateHz: codec.sampling_rate,
    frameSamples,
    windowFrames,
    overlapFrames: windowFrames - Math.ceil(windowFrames * STRIDE_FRACTION),
    sampling: {
      guidance: chosen.guidance_scale ?? REFERENCE.guidance,
      topK: chosen.do_sample === false ? 1 : (chosen.top_k ?? REFERENCE.topK),
      temperature: chosen.temperature ?? REFERENCE.temperature,
    },
  };
}
