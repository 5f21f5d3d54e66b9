import { z } from "zod";
import type { JobView } from "../../core/modality.js";
import type { VideoRequest } from "./request.js";

const unixSeconds = z.int().nullable().describe("Unix time in seconds");

/** The public video object, in every answer about a video job. */
export const videoObject = z.object({
  id: z.string().describe("video_ and 32 hexadecimal digits"),
  object: z.literal("video"),
  model: z.string(),
  status: z.enum(["queued", "in_progress", "completed", "failed"]),
  progress: z.int().min(0).max(100),
  stage: z.string().nullable().describe("steps, frames, muxing, checking while in progress"),
  created_at: z.int(),
  started_at: unixSeconds,
  completed_at: unixSeconds,
  expires_at: unixSeconds,
  prompt: z.string(),
  quality: z.enum(["fast", "standard", "high"]),
  size: z.string(),
  seconds: z.int().min(4).max(10),
  seed: z.int(),
  metadata: z.record(z.string(), z.string()).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  remixed_from_video_id: z.null(),
  queue_position: z.int().nullable(),
  eta_seconds: z.int().nullable(),
  cost: z.object({
    currency: z.literal("usd"),
    per_second: z.number(),
    amount: z.number().describe("quoted at creation"),
    final: z
      .number()
      .nullable()
      .describe("charged; null until the job has ended, 0 when it failed"),
  }),
});

export function renderVideo(job: JobView<VideoRequest>): z.infer<typeof videoObject> {
  const { request, quote } = job;
  return {
    id: job.id,
    object: "video",
    model: job.model,
    status: job.state,
    progress: job.progress,
    stage: job.stage,
    created_at: toUnixSeconds(job.createdAtMs),
    started_at: job.startedAtMs === null ? null : toUnixSeconds(job.startedAtMs),
    completed_at: job.completedAtMs === null ? null : toUnixSeconds(job.completedAtMs),
    expires_at: job.expiresAtMs === null ? null : toUnixSeconds(job.expiresAtMs),
    prompt: request.prompt,
    quality: request.quality,
    size: `${request.width}x${request.height}`,
    seconds: request.seconds,
    seed: request.seed,
    metadata: request.metadata,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message },
    remixed_from_video_id: null,
    queue_position: job.queuePosition,
    eta_seconds: job.etaSeconds,
    cost: {
      currency: "usd",
      per_second: toUsd(quote.microUsdPerUnit),
      amount: toUsd(quote.amountMicroUsd),
      final: job.chargedMicroUsd === null ? null : toUsd(job.chargedMicroUsd),
    },
  };
}

function toUnixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1_000);
}

function toUsd(microUsd: number): number {
  return microUsd / 1_000_000;
}
