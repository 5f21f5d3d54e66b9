import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { Planes } from "../../models/diffusion/autoencoder.js";
import { createNoiseSource, type NoiseSource } from "../../models/sampling/noise.js";
import { encodePicture, rgbOfPlanes } from "../../media/image.js";
import { diffuse, type DiffuseInput } from "./diffuse.js";
import { type EditSource, encodeSource, readSource, sizeLike } from "./edit.js";
import { type Condition, zeros } from "../../models/diffusion/image-architecture.js";
import type { ImageModel } from "../../models/image-model.js";
import { openModel } from "../../models/registry.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { partialChunks } from "./partial-chunks.js";
import type { ImageOutput, ImageRequest, ImageSize } from "./request.js";
import { invalidValue } from "../shared/request-body.js";

/** Share of a picture's time that the steps take; the rest decodes and encodes. */
const STEPS_FRACTION = 0.9;

/** Steps of a quality, as a share of the model's own. */
const STEP_SHARES = { low: 0.6, medium: 1, high: 1.5 } as const;

/** Side of the square that counts as one token of a picture, in pixels. */
const TOKEN_SIDE = 16;

type ImageEvent = PipelineEvent<ImageOutput>;
type ImageEntry = ImageOutput["images"][number];

interface ImageTask {
  readonly model: ImageModel;
  readonly request: ImageRequest;
  readonly context: PipelineContext;
  readonly size: ImageSize;
  readonly source: EditSource | undefined;
  readonly plan: Omit<DiffuseInput, "noise" | "edit" | "beside" | "reference">;
}

/** Text encoders → denoising steps → decoder → a file for each picture, one picture at a time. */
export async function createImagePipeline(
  setup: PipelineSetup,
): Promise<Pipeline<ImageRequest, ImageOutput>> {
  const files = await loadModelPackage(setup.modelPath, setup);
  const model = await openModel("image", files, setup);
  return {
    run: (request, context) => makeImages(model, request, context),
    close: () => model.close(),
  };
}

async function* makeImages(
  model: ImageModel,
  request: ImageRequest,
  context: PipelineContext,
): AsyncGenerator<ImageEvent> {
  const task = await planImages(model, request, context);
  const images: ImageEntry[] = [];
  for (let index = 0; index < request.n; index += 1) images.push(yield* makeImage(task, index));
  const notes = await model.encoders.notes(request.prompt);
  const usage = countTokens(task);
  yield { type: "output", output: { images, usage, ...(notes.length > 0 && { notes }) } };
}

/** Settles what the request leaves to the model, and encodes the prompts once for all pictures. */
export async function planImages(
  model: ImageModel,
  request: ImageRequest,
  context: PipelineContext,
): Promise<ImageTask> {
  const { traits } = model;
  const { edit } = request;
  const size = request.size ?? (edit ? sizeLike(model, edit) : model.native);
  checkSize(model, size);
  const asked = request.guidance ?? traits.guidance;
  const guidance = model.architecture.guidanceScale?.(asked) ?? asked;
  const share = STEP_SHARES[request.quality];
  const steps = request.steps ?? Math.max(1, Math.round(traits.steps * share));
  const source = await readSource(model, request, size, context);
  const conditions = await encodePrompts(model, request, guidance);
  context.signal.throwIfAborted();
  const { signal } = context;
  const plan = { model, conditions, guidance, steps, grid: gridOf(model, size), signal, ...size };
  return { model, request, context, size, source, plan };
}

/** All that one picture is made of. */
export async function planPicture(
  { model, source, size, plan }: ImageTask,
  noise: NoiseSource,
): Promise<DiffuseInput> {
  return { ...plan, ...(await encodeSource(model, source, noise, size)), noise };
}

/** Shape of the latents of a picture. */
function gridOf({ traits, factor, architecture }: ImageModel, { width, height }: ImageSize) {
  const channels = traits.latentChannels;
  if (architecture.packing === "vector") return { channels, height: 1, width: 1 };
  return { channels, height: height / factor, width: width / factor };
}

function checkSize({ factor, traits, sizes }: ImageModel, { width, height }: ImageSize): void {
  if (sizes?.every(([rows, columns]) => rows !== height || columns !== width)) {
    const known = sizes.map(([rows, columns]) => `${columns}x${rows}`).join(", ");
    const message = `size must be one of ${known} for this model, got ${width}x${height}`;
    throw invalidValue("size", message);
  }
  const multiple = factor * traits.latentMultiple;
  if (width % multiple === 0 && height % multiple === 0) return;
  const message = `size must have sides that are multiples of ${multiple} pixels for this model, got ${width}x${height}`;
  throw invalidValue("size", message);
}

/** The prompt, and the negative prompt where the model is guided by it. */
async function encodePrompts(
  model: ImageModel,
  { prompt, negativePrompt }: ImageRequest,
  guidance: number,
): Promise<Condition[]> {
  const { architecture, encoders, traits, zeroesEmptyPrompt } = model;
  const positive = await architecture.encode(encoders, prompt);
  if (!traits.usesNegativePrompt || guidance <= 1) return [positive];
  if (negativePrompt === null && zeroesEmptyPrompt) return [positive, zeroed(positive)];
  return [positive, await architecture.encode(encoders, negativePrompt ?? "", true)];
}

function zeroed({ context, pooled, ...rest }: Condition): Condition {
  return { ...rest, context: zeros(context.dims), ...(pooled && { pooled: zeros(pooled.dims) }) };
}

async function* makeImage(task: ImageTask, index: number): AsyncGenerator<ImageEvent, ImageEntry> {
  const { request, context, size } = task;
  const seed = request.seed + index;
  const latents = yield* diffuseWithProgress(task, index, seed);
  const bytes = await renderPicture(task, latents);
  const variant = `image-${index}`;
  const mediaType = `image/${request.format}`;
  const path = join(context.scratchPath, `${variant}.${request.format}`);
  await writeFile(path, bytes);
  yield { type: "file", variant, path, mediaType };
  const { width, height } = size;
  return { variant, mediaType, width, height, seed };
}

async function* diffuseWithProgress(
  task: ImageTask,
  index: number,
  seed: number,
): AsyncGenerator<ImageEvent, Planes> {
  const { request, size } = task;
  const stepping = diffuse(await planPicture(task, createNoiseSource(seed)));
  let partial = 0;
  let result = await stepping.next();
  for (; !result.done; result = await stepping.next()) {
    const { step, steps, clean } = result.value;
    const fraction = (index + (step / steps) * STEPS_FRACTION) / request.n;
    yield { type: "progress", stage: "steps", fraction };
    if (!partialSteps(steps, request.partialImages).includes(step)) continue;
    const bytes = await renderPicture(task, clean);
    for (const chunk of partialChunks({ partial, index, ...size, bytes }))
      yield { type: "chunk", chunk };
    partial += 1;
  }
  return result.value;
}

/** Steps after which an unfinished picture is shown: evenly spread, never after the last. */
export function partialSteps(steps: number, count: number): number[] {
  const spread = Array.from({ length: count }, (_, index) =>
    Math.floor(((index + 1) * steps) / (count + 1)),
  );
  return [...new Set(spread)].filter((step) => step >= 1 && step < steps);
}

async function renderPicture(task: ImageTask, latents: Planes): Promise<Uint8Array> {
  const { model, request, size } = task;
  const { values, width, height } = await model.autoencoder.decode(latents, size);
  return encodePicture(rgbOfPlanes(values, width, height), request.format, request.compression);
}

function countTokens({ model, request, size }: ImageTask): ImageOutput["usage"] {
  const { encoders } = model;
  const each = Math.ceil(size.width / TOKEN_SIDE) * Math.ceil(size.height / TOKEN_SIDE);
  const inputTokens = encoders.count(request.prompt) + encoders.count(request.negativePrompt ?? "");
  const imageTokens = request.edit ? { imageTokens: each } : {};
  return { inputTokens, ...imageTokens, outputTokens: each * request.n };
}
