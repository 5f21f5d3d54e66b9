import type { PipelineContext } from "../../core/modality.js";
import { coverMask, coverRgb, planesOfRgb } from "../../media/image.js";
import type { Planes } from "../../models/diffusion/autoencoder.js";
import type { ImageModel } from "../../models/image-model.js";
import type { NoiseSource } from "../../models/sampling/noise.js";
import { concatFloats } from "../../runtime/tensors/tensor.js";
import { invalidValue } from "../shared/request-body.js";
import type { DiffuseInput } from "./diffuse.js";
import { type ImageRequest, type ImageSize, SIDE_MULTIPLE } from "./request.js";

/** A picture to edit, at the size of the result. */
export interface EditSource {
  /** RGB in [-1, 1]. */
  readonly picture: Planes;
  /** [height, width]: 1 where the picture is made anew. */
  readonly mask?: Uint8Array;
  readonly strength: number;
}

/** The model's listed size of the nearest shape; without a list, the picture's shape at the native area. */
export function sizeLike({ native, sizes }: ImageModel, { width, height }: ImageSize): ImageSize {
  const shape = width / height;
  if (sizes !== undefined && sizes.length > 0) {
    const far = ([rows, columns]: readonly [number, number]) =>
      Math.abs(Math.log(columns / rows / shape));
    const [nearest = [native.height, native.width]] = sizes.toSorted((a, b) => far(a) - far(b));
    return { height: nearest[0], width: nearest[1] };
  }
  const side = (pixels: number) =>
    Math.max(SIDE_MULTIPLE, Math.round(pixels / SIDE_MULTIPLE) * SIDE_MULTIPLE);
  const area = native.width * native.height;
  return { width: side(Math.sqrt(area * shape)), height: side(Math.sqrt(area / shape)) };
}

/** Greatest area of a picture that stands beside the one that is made, in pixels. */
const REFERENCE_AREA = 1_024 ** 2;

/** Its own size, made smaller where it is too large, cut to whole latents. */
function referenceSize({ factor }: ImageModel, { width, height }: ImageSize): ImageSize {
  const scale = Math.min(1, Math.sqrt(REFERENCE_AREA / (width * height)));
  const cut = (side: number) => Math.max(1, Math.floor((side * scale) / factor)) * factor;
  return { width: cut(width), height: cut(height) };
}

/** The picture that a request edits, cut evenly to the size; undefined where it edits none. */
export async function readSource(
  model: ImageModel,
  { edit }: ImageRequest,
  size: ImageSize,
  context: PipelineContext,
): Promise<EditSource | undefined> {
  if (edit === undefined) return undefined;
  if (!model.encodesPictures)
    throw invalidValue(
      "model",
      "model must have a vae_encoder to edit pictures: this one has none",
    );
  const isBeside = model.traits.readsReference === true && edit.mask === null;
  const { width, height } = isBeside ? referenceSize(model, edit) : size;
  const rgb = await coverRgb(await context.readInput(edit.image), width, height);
  const mask = edit.mask && (await coverMask(await context.readInput(edit.mask), width, height));
  const picture = { values: planesOfRgb(rgb), channels: 3, height, width };
  return { picture, strength: edit.strength, ...(mask && { mask }) };
}

/** What a source adds to the way from noise to latents; draws from `noise` before that way does. */
export async function encodeSource(
  model: ImageModel,
  source: EditSource | undefined,
  noise: NoiseSource,
  size: ImageSize,
): Promise<Pick<DiffuseInput, "edit" | "beside" | "reference">> {
  const { autoencoder, traits, factor } = model;
  if (traits.readsReference) return await encodeReference(model, source, size);
  if (!traits.readsMasked) {
    if (source === undefined) return {};
    const latents = await autoencoder.encode(source.picture, noise);
    const mask = source.mask && latentMask(source.mask, size, factor);
    return { edit: { latents, strength: source.strength, ...(mask && { mask }) } };
  }
  const mask = source?.mask ?? new Uint8Array(size.width * size.height).fill(1);
  const masked = await autoencoder.encode(maskedPicture(source, mask, size), noise);
  const beside = concatFloats([latentMask(mask, size, factor), masked.values]);
  // At full strength the denoiser sees what stays of the picture beside the latents, and needs no more.
  if (source === undefined || source.strength === 1) return { beside };
  const latents = await autoencoder.encode(source.picture, noise);
  return { beside, edit: { latents, strength: source.strength } };
}

/** Tokens of the picture beside those that are made; under a mask what stays is put back besides. */
async function encodeReference(
  { autoencoder, factor }: ImageModel,
  source: EditSource | undefined,
  size: ImageSize,
): Promise<Pick<DiffuseInput, "edit" | "reference">> {
  if (source === undefined) return {};
  const reference = await autoencoder.encode(source.picture);
  if (source.mask === undefined) return { reference };
  const mask = centreMask(source.mask, size, factor);
  return { reference, edit: { latents: reference, strength: source.strength, mask } };
}

/** The picture with grey where it is made anew. */
function maskedPicture(source: EditSource | undefined, mask: Uint8Array, size: ImageSize): Planes {
  const values = source?.picture.values ?? new Float32Array(3 * mask.length);
  const kept = values.map((value, index) => (mask[index % mask.length] === 1 ? 0 : value));
  return { ...size, channels: 3, values: kept };
}

/** One value a latent: the mean of the four pixels in its midst, as diffusers takes it for FLUX.2. */
function centreMask(mask: Uint8Array, { width, height }: ImageSize, factor: number): Float32Array {
  const columns = width / factor;
  return Float32Array.from({ length: columns * (height / factor) }, (_, index) => {
    const row = (Math.floor(index / columns) + 0.5) * factor;
    const pixel = row * width + ((index % columns) + 0.5) * factor;
    const around = [pixel, pixel - 1, pixel - width, pixel - width - 1];
    return around.reduce((sum, one) => sum + (mask[one] ?? 0), 0) / around.length;
  });
}

/** One value a latent: that of the first of its pixels, as diffusers takes it. */
function latentMask(mask: Uint8Array, { width, height }: ImageSize, factor: number): Float32Array {
  const columns = width / factor;
  return Float32Array.from({ length: columns * (height / factor) }, (_, index) => {
    const row = Math.floor(index / columns) * factor;
    return mask[row * width + (index % columns) * factor] ?? 0;
  });
}
