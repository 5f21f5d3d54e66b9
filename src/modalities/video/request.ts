import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";
import { storedNotes } from "../shared/model-notes.js";
import { type OtherNames, SIDES, withOwnNames } from "../shared/other-names.js";
import {
  artifact,
  booleanWord,
  boundedText,
  checkSeconds,
  decimalNumber,
  describe,
  invalidValue,
  metadata,
  metadataField,
  oneOf,
  parseBody,
  promptText,
  secondsAsText,
  wholeNumber,
} from "../shared/request-body.js";

/** The tiers of video: interface specification, part 2. */
export const TIERS = {
  fast: { width: 1280, height: 720, sound: false },
  standard: { width: 1280, height: 720, sound: true },
  high: { width: 1920, height: 1080, sound: true },
} as const satisfies Record<string, Tier>;

interface Tier {
  /** Longer side of the frame, in pixels. */
  readonly width: number;
  readonly height: number;
  readonly sound: boolean;
}

export type TierName = keyof typeof TIERS;

export const TIER_NAMES = ["fast", "standard", "high"] as const satisfies readonly TierName[];

/** A picture as the caller sent it: its bytes, or the data URL that carries them. */
type ImageInput = { readonly bytes: Uint8Array } | { readonly dataUrl: string };

const uploadedFile = z.object({ filename: z.string(), bytes: z.instanceof(Uint8Array) });
const urlObject = z.union([
  z.strictObject({ image_url: z.union([z.string(), z.strictObject({ url: z.string() })]) }),
  z.strictObject({ url: z.string() }),
]);

/** Reads the forms a picture may come in. Remote URLs are refused: nothing is fetched for a caller. */
export function parseImageInput(value: unknown, param: string): ImageInput {
  const file = uploadedFile.safeParse(value);
  if (file.success) return { bytes: file.data.bytes };
  const url = typeof value === "string" ? value : urlOf(value, param);
  if (/^data:/i.test(url)) return { dataUrl: url };
  const message = /^[a-z][a-z0-9+.-]*:/i.test(url)
    ? `${param} must be a file or a data URL: remote URLs are not fetched`
    : `${param} must be a file part, a data URL, {image_url} or {url}, got ${describe(url)}`;
  throw new JobError("invalid_image_url", message, { param });
}

function urlOf(value: unknown, param: string): string {
  const parsed = urlObject.safeParse(value);
  if (!parsed.success) {
    const message = `${param} must be a file part, a data URL, {image_url} or {url}, got ${describe(value)}`;
    throw invalidValue(param, message);
  }
  if ("url" in parsed.data) return parsed.data.url;
  const { image_url: imageUrl } = parsed.data;
  return typeof imageUrl === "string" ? imageUrl : imageUrl.url;
}

const MAX_PROMPT_CHARACTERS = 4_096;
/** Of a request that names none, where its model makes all of them. */
const USUAL_TIER = "standard" satisfies TierName;

const LEAST_SECONDS = 4;
const MOST_SECONDS = 10;

/** How a picture of another shape fills the frame, in the words of CSS's object-fit. */
const FITS = ["contain", "cover"] as const;

const imageUrl = z
  .union([z.string(), urlObject])
  .optional()
  .describe("A data URL of a PNG, JPEG or WebP, {image_url} or {url}; a file part in a form.");
const imagePart = z.string().meta({ format: "binary" }).optional().describe("A PNG, JPEG or WebP.");

/** Body of `POST /v1/videos`. */
export const videoBody = z.strictObject({
  model: z.string().min(1),
  prompt: promptText("prompt", MAX_PROMPT_CHARACTERS),
  seconds: wholeNumber("seconds", LEAST_SECONDS, MOST_SECONDS),
  image: imageUrl,
  input_reference: imageUrl,
  fit: oneOf("fit", FITS)
    .optional()
    .describe("How the picture fills the frame: whole with a blurred border, or cut to it."),
  quality: oneOf("quality", TIER_NAMES).optional(),
  tier: oneOf("tier", TIER_NAMES).optional(),
  size: z.string().optional(),
  resolution: z.string().optional(),
  generate_audio: booleanWord("generate_audio").optional(),
  seed: wholeNumber("seed", 0, Number.MAX_SAFE_INTEGER).optional(),
  negative_prompt: boundedText("negative_prompt", MAX_PROMPT_CHARACTERS).optional(),
  metadata: metadataField.optional(),
});

/** The same as a multipart form. */
export const videoForm = videoBody.extend({ image: imagePart, input_reference: imagePart });

/** Either: a picture is read by hand, for sentences that say what is wrong with it. */
const picture = z.unknown().optional();
const looseBody = videoBody.extend({ image: picture, input_reference: picture });

type VideoBody = z.infer<typeof looseBody>;

/** A clip has its model's frame rate: what others' words say of it is how long it lasts. */
const OTHER_NAMES: readonly OtherNames[] = [
  SIDES,
  {
    own: "seconds",
    fields: { num_frames: wholeNumber("num_frames", 1, 9_999), fps: decimalNumber("fps", 1, 240) },
    toOwn(frames = 0, rate = 1) {
      const seconds = Math.round(frames / rate);
      if (seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS) return seconds;
      const message = `num_frames / fps must be ${LEAST_SECONDS} to ${MOST_SECONDS} seconds, got ${frames} / ${rate}`;
      throw invalidValue("num_frames", message);
    },
  },
];

/** An admitted request, as it is stored and travels on the queue. */
export const videoRequest = z.object({
  model: z.string(),
  prompt: z.string(),
  /** Length of the clip, 4 to 10. */
  seconds: z.number(),
  secondsAsText,
  quality: z.enum(TIER_NAMES),
  /** Pixels. */
  width: z.int().positive(),
  height: z.int().positive(),
  sound: z.boolean(),
  /** Same seed, same model, same inputs: same frames. */
  seed: z.int(),
  negativePrompt: z.string(),
  /** The picture to animate. */
  image: artifact.nullable(),
  fit: z.enum(FITS).exactOptional(),
  metadata,
});
export type VideoRequest = z.infer<typeof videoRequest>;

/** What the pipeline says of a finished clip. */
export const videoOutput = z.object({
  frameCount: z.int().positive(),
  /** Frames a second; 24 by default, as workers of earlier builds leave it. */
  frameRate: z.number().positive().exactOptional(),
  /** Stage → seconds of the attempt that finished the clip; absent from workers of earlier builds, as is the next. */
  stageSeconds: z.record(z.string(), z.number().nonnegative()).exactOptional(),
  /** Most memory that the process of the models was seen to hold meanwhile. */
  peakMemoryBytes: z.int().positive().exactOptional(),
  notes: storedNotes,
});
export type VideoOutput = z.infer<typeof videoOutput>;

/** The parsed body with its tier settled; contradictions with the tier or the model are refused. */
export function parseVideoBody(body: unknown, model: ModelInfo): VideoBody & { quality: TierName } {
  const parsed = parseBody(looseBody, withOwnNames(body, OTHER_NAMES));
  refuseBoth(parsed, "image", "input_reference");
  refuseBoth(parsed, "quality", "tier");
  const quality = parsed.quality ?? parsed.tier ?? usualTier(parsed, model);
  checkSeconds(parsed.seconds, model, [LEAST_SECONDS, MOST_SECONDS]);
  checkPicture(parsed, model);
  checkTier(parsed, quality, model);
  return { ...parsed, quality };
}

/** Of a body that names none: the only one of its size, else the model's first. */
function usualTier({ size }: VideoBody, { tiers }: ModelInfo): TierName {
  const [only, ...others] = TIER_NAMES.filter((tier) => sizesOf(tier).includes(size ?? ""));
  if (only !== undefined && others.length === 0) return only;
  return TIER_NAMES.find((tier) => tier === tiers?.[0]) ?? USUAL_TIER;
}

/** Pixels of a parsed body's clip: upright where its size is. */
export function frameOf({
  quality,
  size,
}: {
  readonly quality: TierName;
  readonly size?: string | undefined;
}) {
  const { width, height } = TIERS[quality];
  return size === `${height}x${width}` ? { width: height, height: width } : { width, height };
}

/** Across and upright. */
function sizesOf(tier: TierName): string[] {
  const { width, height } = TIERS[tier];
  return [`${width}x${height}`, `${height}x${width}`];
}

function refuseBoth(body: VideoBody, name: keyof VideoBody, alias: keyof VideoBody): void {
  if (body[name] === undefined || body[alias] === undefined) return;
  const message = `${name} and ${alias} are the same field: send one of them`;
  throw new JobError("invalid_value", message, { param: alias });
}

/** A model that reads text alone gets no picture; one that animates pictures needs one. */
function checkPicture(body: VideoBody, { id, reads }: ModelInfo): void {
  if (reads === undefined) return;
  if (reads.includes("image")) {
    const sent = body.input_reference ?? body.image ?? "";
    if (sent !== "" || reads.includes("text")) return;
    const message = `image is required by ${id}: it animates a picture, as its prompt says`;
    throw new JobError("missing_required_parameter", message, { param: "image" });
  }
  for (const param of ["image", "input_reference"] as const) {
    if ((body[param] ?? "") === "") continue;
    const message = `${param} is not read by ${id}: it makes clips from a prompt alone`;
    throw invalidValue(param, message);
  }
}

function checkTier(body: VideoBody, quality: TierName, model: ModelInfo): void {
  const tiers: readonly string[] = model.tiers ?? TIER_NAMES;
  if (!tiers.includes(quality)) {
    const message = `quality must be ${tiers.join(" or ")} for ${model.id}, got ${quality}`;
    throw new JobError("invalid_value", message, { param: body.tier ? "tier" : "quality" });
  }
  const tier: Tier = TIERS[quality];
  const usable = sizesOf(quality).filter((size) => model.sizes?.includes(size) ?? true);
  const expect = (param: keyof VideoBody, allowed: readonly unknown[]) => {
    if (body[param] === undefined || allowed.includes(body[param])) return;
    const message = `${param} must be ${allowed.join(" or ")} for quality ${quality} of ${model.id}, got ${describe(body[param])}`;
    throw invalidValue(param, message);
  };
  expect("size", usable);
  expect("resolution", [`${tier.height}p`]);
  expect("generate_audio", [tier.sound]);
}
