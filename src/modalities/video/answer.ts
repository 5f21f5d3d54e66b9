import { z } from "zod";
import type { JobView } from "../../core/modality.js";
import { jobObject, renderJob, renderSeconds, secondsField } from "../shared/job-object.js";
import { TIER_NAMES, type VideoRequest } from "./request.js";

/** The public video object, in every answer about a video job. */
export const videoObject = jobObject("video", {
  stage: z
    .string()
    .nullable()
    .describe("prompt, steps, sound, canvas, frames, muxing, checking while in progress"),
  prompt: z.string(),
  quality: z.enum(TIER_NAMES),
  size: z.string(),
  seconds: secondsField(z.int().min(4).max(10)),
  seed: z.int(),
  metadata: z.record(z.string(), z.string()).nullable(),
  remixed_from_video_id: z.null(),
});

export function renderVideo(job: JobView<VideoRequest>): z.infer<typeof videoObject> {
  const { request } = job;
  const own = {
    prompt: request.prompt,
    quality: request.quality,
    size: `${request.width}x${request.height}`,
    seconds: renderSeconds(request),
    seed: request.seed,
    metadata: request.metadata,
    remixed_from_video_id: null,
  };
  return renderJob(job, { object: "video", own, unit: "videoSeconds" });
}
