import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { Clip, VideoModel } from "../../models/video/family.js";
import type { VideoRequest } from "./request.js";

/** One clip to make: the opened model, the request and the attempt it runs in. */
export interface ClipTask {
  readonly model: VideoModel;
  readonly setup: PipelineSetup;
  readonly request: VideoRequest;
  readonly context: PipelineContext;
  readonly clip: Clip;
}
