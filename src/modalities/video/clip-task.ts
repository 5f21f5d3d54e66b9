import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { CheckpointKind } from "./checkpoint.js";
import { latentLength } from "./denoise-course.js";
import type { MotionModel } from "./motion-model.js";
import type { VideoRequest } from "./request.js";

/** One clip to make: the opened model, the request and the attempt it runs in. */
export interface ClipTask {
  readonly model: MotionModel;
  readonly setup: PipelineSetup;
  readonly request: VideoRequest;
  readonly context: PipelineContext;
}

/** What a checkpoint of this clip is made for. */
export function kindOf({ model, request }: ClipTask): CheckpointKind {
  const { id, settings } = model;
  return { modelId: id, steps: settings.sampler.steps, length: latentLength(model, request) };
}
