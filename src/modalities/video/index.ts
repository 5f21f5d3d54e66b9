import { randomInt } from "node:crypto";
import { z } from "zod";
import type { Artifact } from "../../core/artifact.js";
import { type AdmitContext, defineModality, FILE_BODY_BYTES } from "../../core/modality.js";
import type { Prices } from "../../core/usage.js";
import {
  frameOf,
  parseImageInput,
  parseVideoBody,
  type TierName,
  TIERS,
  videoBody,
  videoForm,
  videoOutput,
  type VideoOutput,
  videoRequest,
  type VideoRequest,
} from "./request.js";
import { hasSecondsAsText } from "../shared/request-body.js";
import { renderVideo, videoObject } from "./answer.js";

/** Interface specification, part 2. */
const PRICES: Record<TierName, Prices> = {
  fast: { videoSeconds: 80_000 },
  standard: { videoSeconds: 180_000 },
  high: { videoSeconds: 350_000 },
};

/** Frames a second, where a worker of an earlier build does not say it. */
const FRAME_RATE = 24;

/** 64 × 64 pixels, stripes. */
const EXAMPLE_PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mPghwKGUcYog3QGAMQvHgFLBQJlAAAAAElFTkSuQmCC";

export const video = defineModality<"video", VideoRequest, VideoOutput>({
  name: "video",
  endpoint: {
    path: "/v1/videos",
    delivery: "poll",
    object: "video",
    idPrefix: "video_",
    variants: ["thumbnail", "spritesheet"],
    mediaTypes: ["video/mp4"],
    bodyTypes: ["application/json", "multipart/form-data"],
    maxBodyBytes: FILE_BODY_BYTES,
    preview: "thumbnail",
    isLive: true,
    // A clip is made in the steps of its model, which its price is for.
    ignores: ["num_inference_steps", "guidance_scale"],
  },
  schemas: { request: videoRequest, output: videoOutput },
  isResumable: true,
  requestSchema: (bodyType) =>
    z.toJSONSchema(bodyType === "multipart/form-data" ? videoForm : videoBody, { io: "input" }),
  responseSchema: () => z.toJSONSchema(videoObject),
  admit,
  example: (model) => ({
    prompt: "a red boat",
    seconds: model?.minSeconds ?? 4,
    ...(model?.reads?.includes("text") === false && { image: EXAMPLE_PICTURE }),
  }),
  prices: { tierOf: ({ quality }) => quality, byTier: PRICES },
  mostUnits: ({ seconds }) => ({ videoSeconds: seconds }),
  countUnits: (_request, { frameCount, frameRate = FRAME_RATE }) => ({
    videoSeconds: frameCount / frameRate,
  }),
  promptsOf: ({ prompt, negativePrompt }) => [prompt, negativePrompt],
  render: renderVideo,
  loadPipeline: async () => (await import("./pipeline.js")).createVideoPipeline,
});

async function admit(body: unknown, context: AdmitContext): Promise<VideoRequest> {
  const parsed = parseVideoBody(body, context.model);
  const request = {
    model: parsed.model,
    prompt: parsed.prompt,
    seconds: parsed.seconds,
    ...(hasSecondsAsText(body) && { secondsAsText: true as const }),
    quality: parsed.quality,
    ...frameOf(parsed),
    sound: TIERS[parsed.quality].sound,
    // Drawn here and not by the worker: a second attempt must make the same frames.
    seed: parsed.seed ?? randomInt(2 ** 47),
    negativePrompt: parsed.negative_prompt ?? "",
    metadata: parsed.metadata ?? null,
  };
  const image = await admitImage(parsed, context);
  return { ...request, image, ...(parsed.fit !== undefined && { fit: parsed.fit }) };
}

async function admitImage(
  body: { readonly image?: unknown; readonly input_reference?: unknown },
  context: AdmitContext,
): Promise<Artifact | null> {
  const param = body.input_reference === undefined ? "image" : "input_reference";
  const value = body.input_reference ?? body.image;
  if (value === undefined || value === null || value === "") return null;
  const input = parseImageInput(value, param);
  const { decodeDataUrl, readImage } = await import("../../media/image.js");
  const bytes = "bytes" in input ? input.bytes : decodeDataUrl(input.dataUrl, param);
  const image = await readImage(bytes, { param });
  return context.saveInput(image.bytes, image.mediaType);
}
