import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import { evenCover } from "../../media/i420.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { readFirstFrame } from "../video/first-frame.js";
import type { Clip, ClipRequest, VideoModel } from "../video/video-model.js";
import { latentDims, planSchedule } from "./denoise.js";
import { decodeWindows } from "./decoder.js";
import { denoise } from "./denoise.js";
import type { PromptStates, LatentDims, PictureCondition } from "./denoiser.js";
import { openWanModel, type WanModel } from "./model.js";

/** Not measured: of models of published size, nearly all of the time goes into their steps. */
const DENOISED_FRACTION = 0.85;

/** Wan 2.1 and 2.2 text to video, and models distilled from them: one denoiser, or two. */
export async function openWan(model: ModelPackage, setup: PipelineSetup): Promise<VideoModel> {
  const opened = await openWanModel(model, setup);
  return {
    decoding: opened.decoding,
    denoisedFraction: DENOISED_FRACTION,
    openClip: (request, context) => openClip(opened, request, context),
    close: () => opened.close(),
  };
}

async function openClip(
  model: WanModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<Clip> {
  const { signal } = context;
  const { settings } = model;
  const { native, frameRate } = settings.shapes;
  const schedule = planSchedule(model);
  const dims = latentDims(settings, request);
  const prompts = await encodePrompts(model, request);
  const picture = await readPicture(model, request, { context, dims });
  const [height, width] = native;
  const frameCount = request.seconds * frameRate;
  const format = { ...evenCover({ width, height }, request), frameRate, frameCount };
  return {
    format,
    notes: prompts[0].notes,
    checkpointKind: {
      modelId: model.id,
      steps: schedule.steps.length,
      length: dims.reduce((product, size) => product * size, 1),
    },
    denoise: (start) =>
      denoise({ model, schedule, dims, prompts, picture, seed: request.seed, signal, start }),
    paint: async (sample) => (onLaunched) =>
      decodeWindows(model, { sample, dims, format, signal, onLaunched }),
  };
}

interface PictureInput {
  readonly context: PipelineContext;
  readonly dims: LatentDims;
}

async function readPicture(
  { encodePicture, settings }: WanModel,
  request: ClipRequest,
  { context, dims }: PictureInput,
): Promise<PictureCondition | undefined> {
  if (encodePicture === undefined) return undefined;
  const [height, width] = settings.shapes.native;
  const frameOf = await readFirstFrame(request, context);
  return frameOf && encodePicture({ rgb: await frameOf(height, width), height, width }, dims);
}

async function encodePrompts(
  { encodePrompt, settings }: WanModel,
  { prompt, negativePrompt }: ClipRequest,
): Promise<[PromptStates, ...PromptStates[]]> {
  const isGuided = settings.sampler.guidance.some((guidance) => guidance > 1);
  const states = await encodePrompt(prompt);
  return isGuided ? [states, await encodePrompt(negativePrompt)] : [states];
}
