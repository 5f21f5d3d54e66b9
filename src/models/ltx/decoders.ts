import type { RgbFrames } from "../../media/i420.js";
import { planesOfRgb } from "../../media/image.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, transpose } from "../../runtime/tensors/tensor.js";
import type { LatentDims } from "./denoiser.js";
import type { LatentScale, LtxSettings } from "./settings.js";

/** Tokens [tokens, features] as a decoder knows them. */
function rescale(tokens: Float32Array, { mean, std }: LatentScale): Float32Array {
  const features = mean.length;
  return tokens.map((value, at) => value * (std[at % features] ?? 1) + (mean[at % features] ?? 0));
}

/** Frames of the picture's tokens, all in one run: the decoder looks ahead as well as back. */
export async function decodeFrames(
  sessions: Pick<Graphs, "run">,
  { picture }: LtxSettings,
  tokens: Float32Array,
  { frames, rows, columns }: LatentDims,
): Promise<RgbFrames> {
  const channels = picture.mean.length;
  const latents = transpose(rescale(tokens, picture), tokens.length / channels);
  const feeds = { latent_sample: float32(latents, [1, channels, frames, rows, columns]) };
  const outputs = await sessions.run("vae-decoder", feeds, { fetch: ["sample"] });
  const [, , frameCount = 0, height = 0, width = 0] = outputs["sample"]?.dims ?? [];
  return { values: floatsOf(outputs, "sample"), frameCount, height, width };
}

/** Tokens [rows × columns, features] of a picture, RGB uint8 [height, width, 3]. */
export async function encodePicture(
  sessions: Pick<Graphs, "run">,
  { picture: { mean, std }, shapes: { native } }: LtxSettings,
  rgb: Uint8Array,
): Promise<Float32Array> {
  const feeds = { sample: float32(planesOfRgb(rgb), [1, 3, 1, ...native]) };
  const outputs = await sessions.run("vae-encoder", feeds, { fetch: ["latent_sample"] });
  const latents = floatsOf(outputs, "latent_sample");
  const features = mean.length;
  const tokens = transpose(latents, features);
  return tokens.map(
    (value, at) => (value - (mean[at % features] ?? 0)) / (std[at % features] ?? 1),
  );
}

/** Planar samples. */
export interface Waveform {
  /** [channels, time], float32 in [-1, 1]. */
  readonly samples: Float32Array;
  readonly channels: number;
}

/** The sound's tokens as a spectrogram, and that as a waveform. */
export async function decodeSound(
  sessions: Pick<Graphs, "run">,
  { sound }: LtxSettings,
  tokens: Float32Array,
): Promise<Waveform> {
  const { channels, mean } = sound;
  const bins = mean.length / channels;
  const times = tokens.length / mean.length;
  const latents = new Float32Array(tokens.length);
  for (const [at, value] of rescale(tokens, sound).entries()) {
    const [time, feature] = [Math.floor(at / mean.length), at % mean.length];
    const [channel, bin] = [Math.floor(feature / bins), feature % bins];
    latents[(channel * times + time) * bins + bin] = value;
  }
  const feeds = { latent_sample: float32(latents, [1, channels, times, bins]) };
  const { sample: spectrogram } = await sessions.run("audio-vae-decoder", feeds);
  if (spectrogram === undefined)
    throw new TypeError("the graph audio-vae-decoder has no output sample");
  const outputs = await sessions.run("vocoder", { mel_spectrogram: spectrogram });
  return { samples: floatsOf(outputs, "waveform"), channels: outputs["waveform"]?.dims[1] ?? 1 };
}
