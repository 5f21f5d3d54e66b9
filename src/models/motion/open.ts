import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import type { Clip, ClipRequest, DecodeFrames, VideoModel } from "../video/family.js";
import { decodeCanvas } from "./canvas.js";
import { decodeScene, decodeWindows } from "./decode-frames.js";
import { denoise, encodePrompts } from "./denoise.js";
import { latentLength } from "./denoise-course.js";
import { type MotionModel, openMotionModel } from "./motion-model.js";
import { readPicture } from "./picture.js";
import { makeSound } from "./sound.js";

/** As measured on two cores. */
const DENOISED_FRACTION = 0.3;

/** service-motion-1, this project's own: a canvas that a camera sees, a subject that moves, a sound bed. */
export async function openMotion(model: ModelPackage, setup: PipelineSetup): Promise<VideoModel> {
  const opened = await openMotionModel(model, setup);
  return {
    decoding: opened.decoding,
    denoisedFraction: DENOISED_FRACTION,
    openClip: (request, context) => openClip(opened, request, context),
    close: () => opened.close(),
  };
}

async function openClip(
  model: MotionModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<Clip> {
  const { shapes, sampler } = model.settings;
  const { width, height, seconds } = request;
  const { signal, scratchPath } = context;
  const states = await encodePrompts(model, request);
  const picture = await readPicture(model, request, context);
  const frameCount = seconds * shapes.frameRate;
  const length = latentLength(model, request);
  return {
    format: { width, height, frameRate: shapes.frameRate, frameCount },
    checkpointKind: { modelId: model.id, steps: sampler.steps, length },
    denoise: (start) =>
      denoise({ model, request, context: states, picture: picture?.tokens ?? null, signal, start }),
    makeSound: () => makeSound(model, request, { states, scratchPath }),
    async paint(sample): Promise<DecodeFrames> {
      const drift = picture ? shapes.imageConditioning.drift : 0;
      const scene = await decodeScene(model, sample, drift);
      const plan = { scene, frameCount, width, height, picture };
      const painted = { ...plan, canvas: await decodeCanvas(model, plan), signal };
      return (onLaunched) => decodeWindows(model, { ...painted, onLaunched });
    },
  };
}
