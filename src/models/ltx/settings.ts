import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";

/** What model.json says of an LTX-2 model. */
const packageSettings = z.object({
  shapes: z.object({
    frameRate: z.int().positive(),
    /** Height and width of the frames that the model makes, in pixels. */
    native: z.tuple([z.int().positive(), z.int().positive()]),
  }),
  sampler: z.object({
    steps: z.int().positive().default(40),
    /** 1 asks the transformer once a step, without the negative prompt. */
    guidance: z.number().default(4),
    /** Of the sound; the picture's where it is not stated. */
    audioGuidance: z.number().optional(),
  }),
});

const positive = z.int().positive();

/** transformer/config.json, by which tokens have their place in time and in the picture. */
const denoiserConfig = z.object({
  patch_size: z.literal(1).default(1),
  patch_size_t: z.literal(1).default(1),
  vae_scale_factors: z.tuple([positive, positive, positive]).default([8, 32, 32]),
  causal_offset: z.int().default(1),
  audio_sampling_rate: positive.default(16_000),
  audio_hop_length: positive.default(160),
  audio_scale_factor: positive.default(4),
});

const scale = {
  latents_mean: z.array(z.number()).min(1),
  latents_std: z.array(z.number()).min(1),
};

const autoencoderConfig = z.object({
  ...scale,
  scaling_factor: z.literal(1).default(1),
  timestep_conditioning: z.literal(false).default(false),
  spatial_compression_ratio: positive,
  temporal_compression_ratio: positive,
});

const audioAutoencoderConfig = z.object({
  ...scale,
  latent_channels: positive,
  sample_rate: positive,
  mel_hop_length: positive,
  temporal_compression_ratio: positive,
});

const vocoderConfig = z.object({ output_sampling_rate: positive });

/** Mean and standard deviation of each feature of a token, as a decoder knows it. */
export interface LatentScale {
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export interface LtxSettings {
  readonly shapes: z.infer<typeof packageSettings>["shapes"];
  readonly sampler: {
    readonly steps: number;
    readonly guidance: number;
    readonly audioGuidance: number;
  };
  readonly places: z.infer<typeof denoiserConfig>;
  /** Of the picture's latents, with the frames of each after the first and the pixels of its sides. */
  readonly picture: LatentScale & {
    readonly temporalStride: number;
    readonly spatialStride: number;
  };
  /** Of the sound's latents: a token has `channels` times as many features as there are bins. */
  readonly sound: LatentScale & {
    readonly channels: number;
    readonly latentsPerSecond: number;
    /** Of the waveform, Hz. */
    readonly sampleRateHz: number;
  };
}

/** Reads the settings of a package. Throws an error that names the file, the field and the value. */
export async function readSettings(model: ModelPackage): Promise<LtxSettings> {
  const manifest = `${model.path}/model.json`;
  const { shapes, sampler } = parseSettings(packageSettings, { sampler: {}, ...model }, manifest);
  const vae = await readModelJson(model, "vae-decoder-config", autoencoderConfig);
  const audio = await readModelJson(model, "audio-vae-decoder-config", audioAutoencoderConfig);
  const vocoder = await readModelJson(model, "vocoder-config", vocoderConfig);
  const { spatial_compression_ratio: spatialStride } = vae;
  if (shapes.native.some((side) => side % spatialStride > 0))
    throw new Error(
      `${manifest}: shapes.native must be multiples of ${spatialStride}, got ${shapes.native.join(" × ")}`,
    );
  const melsPerSecond = audio.sample_rate / audio.mel_hop_length;
  return {
    shapes,
    sampler: { ...sampler, audioGuidance: sampler.audioGuidance ?? sampler.guidance },
    places: await readModelJson(model, "denoiser-config", denoiserConfig),
    picture: {
      mean: vae.latents_mean,
      std: vae.latents_std,
      temporalStride: vae.temporal_compression_ratio,
      spatialStride,
    },
    sound: {
      mean: audio.latents_mean,
      std: audio.latents_std,
      channels: audio.latent_channels,
      latentsPerSecond: melsPerSecond / audio.temporal_compression_ratio,
      sampleRateHz: vocoder.output_sampling_rate,
    },
  };
}
