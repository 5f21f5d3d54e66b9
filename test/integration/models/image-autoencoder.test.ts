import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  createAutoencoder,
  parseLatentScale,
  type Planes,
} from "#framemill/models/diffusion/autoencoder.js";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import { createModelFolders } from "../../support/model-folders.js";
import { deviation } from "../../support/npy.js";
import {
  decoderOfPictures,
  encoderOfPictures,
  PIXEL_SHARE,
  PIXELS,
} from "../../support/tiny-diffusion.js";

/** Of values up to 32 that are float32. */
const TOLERANCE = 1e-5;

const folders = createModelFolders();
afterAll(() => folders.remove());

/** Red, green and blue of two squares side by side, each of one latent. */
const COLOURS = [
  [0.5, -0.25, 0.75],
  [-0.5, 1, 0],
] as const;
const colourOf = (square: number, channel: number) => COLOURS[square]?.[channel % 3] ?? Number.NaN;
const width = 2 * PIXELS;
const picture: Planes = {
  values: Float32Array.from({ length: 3 * PIXELS * width }, (_, at) =>
    colourOf(Math.floor((at % width) / PIXELS), channelOf(at)),
  ),
  channels: 3,
  height: PIXELS,
  width,
};
function channelOf(at: number): number {
  return Math.floor(at / (PIXELS * width));
}

const mean = [0.5, -0.5, 0, 1];
const std = [2, 1, 4, 0.5];

interface Autoencoder {
  readonly channels: number;
  readonly output: "latent_sample" | "latent_parameters";
  /** vae_decoder/config.json. */
  readonly config: object;
  /** What diffusion models know a latent as that the graph knows as `raw`. */
  readonly latentOf: (raw: number, channel: number) => number;
}

describe("an autoencoder", () => {
  test.each<[string, Autoencoder]>([
    [
      "of 32 channels, as tiny ones are published",
      {
        channels: 32,
        output: "latent_sample",
        config: { scaling_factor: 1 },
        latentOf: (raw) => raw,
      },
    ],
    [
      "whose means come with their variances, as Stable Diffusion's",
      {
        channels: 4,
        output: "latent_parameters",
        config: {},
        latentOf: (raw) => raw * 0.18215,
      },
    ],
    [
      "whose latents are moved, as Flux's",
      {
        channels: 4,
        output: "latent_parameters",
        config: { scaling_factor: 0.3611, shift_factor: 0.1159 },
        latentOf: (raw) => (raw - 0.1159) * 0.3611,
      },
    ],
    [
      "whose channels are made normal",
      {
        channels: 4,
        output: "latent_sample",
        config: { scaling_factor: 1, latents_mean: mean, latents_std: std },
        latentOf: (raw, channel) => (raw - (mean[channel] ?? 0)) / (std[channel] ?? 1),
      },
    ],
  ])("%s, reads pictures and makes them of what it read", async (_, given) => {
    const { channels, output, config, latentOf } = given;
    const path = (file: string) => join(folders.root, `${channels}-${output}-${file}.onnx`);
    const graphs = { "vae-encoder": path("encoder"), "vae-decoder": path("decoder") };
    encoderOfPictures(channels, output).write(graphs["vae-encoder"]);
    decoderOfPictures(channels).write(graphs["vae-decoder"]);
    const sessions = await openGraphs({ graphs, threads: 1, providers: ["cpu"] });
    try {
      const autoencoder = createAutoencoder(sessions, parseLatentScale(config));
      const latents = await autoencoder.encode(picture);
      expect(latents).toMatchObject({ channels, height: 1, width: 2 });
      const expected = Array.from({ length: channels * 2 }, (_value, at) => {
        const channel = Math.floor(at / 2);
        return latentOf((channel + 1) * colourOf(at % 2, channel), channel);
      });
      expect(deviation(latents.values, expected)).toBeLessThan(TOLERANCE);
      const decoded = await autoencoder.decode(latents);
      const shades = picture.values.map((value, at) => PIXEL_SHARE * (channelOf(at) + 1) * value);
      expect(deviation(decoded.values, shades)).toBeLessThan(TOLERANCE);
    } finally {
      await sessions.close();
    }
  });
});
