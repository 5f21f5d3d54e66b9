import { z } from "zod";
import { JobError } from "../../core/errors.js";
import { planesOfRgb, sharp } from "../../media/image.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import { findOutput, findPorts } from "../diffusion/graph-ports.js";
import type { EncodedStates, LatentDims, PictureCondition } from "./denoiser.js";
import type { WanSettings } from "./settings.js";

/** A picture of a clip's size: RGB uint8 [height, width, 3]. */
export interface FirstFrame {
  readonly rgb: Uint8Array;
  readonly height: number;
  readonly width: number;
}

/** What the denoiser is given of a picture, for latents of these dimensions. */
export type EncodePicture = (frame: FirstFrame, dims: LatentDims) => Promise<PictureCondition>;

const triple = z.tuple([z.number(), z.number(), z.number()]);

/** preprocessor_config.json of CLIP. */
const processorConfig = z.object({
  crop_size: z.union([
    z.int().positive(),
    z.object({ height: z.int().positive() }).transform(({ height }) => height),
  ]),
  image_mean: triple,
  image_std: triple,
});

const PICTURE = { picture: { names: ["sample", "image", "images", "pixel_values"], ranks: [5] } };
const LATENTS = ["latent_parameters", "latent_sample", "latent", "latents"];

/** The graphs vae-encoder and, where there is one, image-encoder; undefined of a model of texts alone. */
export async function openPictureEncoder(
  model: ModelPackage,
  sessions: Graphs,
  settings: WanSettings,
): Promise<EncodePicture | undefined> {
  if (sessions.info["vae-encoder"] === undefined) return undefined;
  const encodeLatents = createLatentEncoder(sessions, settings);
  const see =
    sessions.info["image-encoder"] === undefined
      ? undefined
      : createImageEncoder(
          sessions,
          await readModelJson(model, "image-processor-config", processorConfig),
        );
  return async (frame, dims) => {
    const latents = await encodeLatents(frame);
    if (settings.expandsTimesteps) return { firstFrame: latents.values };
    const states = await see?.(frame);
    return { channels: maskedLatents(latents, dims, settings), ...(states && { states }) };
  };
}

/** Latents [channels, frames, rows, columns], as the denoiser knows them. */
interface PictureLatents {
  readonly values: Float32Array;
  readonly frames: number;
}

/** What the graph reads behind the picture is grey; its frames are one where it says no number. */
function createLatentEncoder(sessions: Graphs, { channels, mean, std }: WanSettings) {
  const graph = sessions.info["vae-encoder"] ?? { inputs: [], outputs: [] };
  const { picture: port } = findPorts(graph, PICTURE);
  if (port === undefined)
    throw new Error("the graph vae-encoder must have an input [batch, 3, frames, height, width]");
  const output = findOutput(graph, LATENTS);
  const declared = port.dims[2];
  const frameCount = typeof declared === "number" && declared > 0 ? declared : 1;
  return async ({ rgb, height, width }: FirstFrame): Promise<PictureLatents> => {
    const size = height * width;
    const pixels = new Float32Array(3 * frameCount * size);
    const planes = planesOfRgb(rgb);
    for (let channel = 0; channel < 3; channel += 1)
      pixels.set(
        planes.subarray(channel * size, (channel + 1) * size),
        channel * frameCount * size,
      );
    const feeds = { [port.name]: float32(pixels, [1, 3, frameCount, height, width]) };
    const outputs = await sessions.run("vae-encoder", feeds, { fetch: [output] });
    const [, , frames = 0, rows = 0, columns = 0] = outputs[output]?.dims ?? [];
    const all = floatsOf(outputs, output);
    // Parameters of a distribution are its means and, behind them, its variances.
    const means = all.slice(0, channels * frames * rows * columns);
    const values = means.map((value, at) => {
      const channel = Math.floor(at / (frames * rows * columns));
      return (value - (mean[channel] ?? 0)) / (std[channel] ?? 1);
    });
    return { values, frames };
  };
}

/** Which frames are given, of those of each latent frame, and behind that the latents of the clip's frames. */
function maskedLatents(
  { values, frames: encoded }: PictureLatents,
  [channels, frames, rows, columns]: LatentDims,
  { shapes }: WanSettings,
): Float32Array {
  if (encoded < frames) {
    const message = `the graph vae-encoder makes ${encoded} latent frames, the clip has ${frames}: export it for longer ones`;
    throw new JobError("invalid_output", message);
  }
  const size = rows * columns;
  const masks = shapes.temporalStride;
  const all = new Float32Array((masks + channels) * frames * size);
  for (let mask = 0; mask < masks; mask += 1)
    all.fill(1, mask * frames * size, (mask * frames + 1) * size);
  for (let channel = 0; channel < channels; channel += 1) {
    const start = channel * encoded * size;
    const own = values.subarray(start, start + frames * size);
    all.set(own, (masks + channel) * frames * size);
  }
  return all;
}

function createImageEncoder(
  sessions: Graphs,
  { crop_size: side, image_mean: mean, image_std: std }: z.infer<typeof processorConfig>,
) {
  const graph = sessions.info["image-encoder"] ?? { inputs: [], outputs: [] };
  const output = findOutput(graph, ["hidden_states", "image_embeds"]);
  return async ({ rgb, height, width }: FirstFrame): Promise<EncodedStates> => {
    const seen = await sharp(rgb, { raw: { height, width, channels: 3 } })
      .resize({ width: side, height: side, fit: "cover", kernel: "cubic" })
      .raw()
      .toBuffer();
    const size = side * side;
    const pixels = new Float32Array(3 * size);
    for (let at = 0; at < 3 * size; at += 1) {
      const channel = at % 3;
      const value = ((seen[at] ?? 0) / 255 - (mean[channel] ?? 0)) / (std[channel] ?? 1);
      pixels[channel * size + Math.floor(at / 3)] = value;
    }
    const feeds = { pixel_values: float32(pixels, [1, 3, side, side]) };
    const outputs = await sessions.run("image-encoder", feeds, { fetch: [output] });
    return { values: floatsOf(outputs, output), tokens: outputs[output]?.dims[1] ?? 0 };
  };
}
