import { z } from "zod";
import type { JobView } from "../../core/modality.js";
import { jobObject, renderJob, renderSeconds, secondsField } from "../shared/job-object.js";
import { answeredNotes } from "../shared/model-notes.js";
import { TIER_NAMES, type VideoOutput, type VideoRequest } from "./request.js";

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
  timings: z
    .record(z.string(), z.number())
    .nullable()
    .describe("seconds of each stage once completed, and of `queued` before the first"),
  inference_time_s: z
    .number()
    .nullable()
    .describe("seconds for which the clip had the device, waiting for others left out"),
  peak_memory_mb: z
    .number()
    .nullable()
    .describe("most MiB that the process of the models was seen to hold meanwhile"),
  model_notes: answeredNotes,
});

export function renderVideo(job: JobView<VideoRequest, VideoOutput>): z.infer<typeof videoObject> {
  const { request } = job;
  const own = {
    prompt: request.prompt,
    quality: request.quality,
    size: `${request.width}x${request.height}`,
    seconds: renderSeconds(request),
    seed: request.seed,
    metadata: request.metadata,
    remixed_from_video_id: null,
    model_notes: [...(job.output?.notes ?? [])],
    ...measuresOf(job),
  };
  return renderJob(job, { object: "video", own, unit: "videoSeconds" });
}

/** What making it took. */
function measuresOf({
  createdAtMs,
  startedAtMs,
  usage,
  output,
}: JobView<VideoRequest, VideoOutput>) {
  const { stageSeconds, peakMemoryBytes } = output ?? {};
  const queued = startedAtMs === null ? null : (startedAtMs - createdAtMs) / 1_000;
  const isKnown = stageSeconds !== undefined && queued !== null;
  return {
    timings: isKnown ? { queued, ...stageSeconds } : null,
    inference_time_s: usage === null ? null : usage.gpuMs / 1_000,
    peak_memory_mb: peakMemoryBytes === undefined ? null : Math.round(peakMemoryBytes / 2 ** 20),
  };
}
