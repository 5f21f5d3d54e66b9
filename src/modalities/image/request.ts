import { z } from "zod";
import type { ModelInfo, UploadedFile } from "../../core/modality.js";
import { storedNotes } from "../shared/model-notes.js";
import { type OtherNames, SIDES, withOwnNames } from "../shared/other-names.js";
import {
  artifact,
  booleanWord,
  boundedText,
  decimalNumber,
  describe,
  invalidValue,
  oneOf,
  parseBody,
  promptText,
  wholeNumber,
} from "../shared/request-body.js";

const MAX_PROMPT_CHARACTERS = 32_000;
const MAX_IMAGES = 10;
const MAX_STEPS = 100;
const MAX_GUIDANCE = 30;
const LEAST_STRENGTH = 0.01;

/** Side lengths of models that do not list their sizes, in pixels. */
const MIN_SIDE = 64;
const MAX_SIDE = 2_048;
/** Eight latents of eight pixels: what the narrowest level of every denoiser read can hold. */
export const SIDE_MULTIPLE = 64;

const QUALITIES = {
  auto: "medium",
  low: "low",
  medium: "medium",
  high: "high",
  standard: "medium",
  hd: "high",
} as const;

const FORMATS = ["png", "jpeg", "webp"] as const;

/** Body of `POST /v1/images/generations`: OpenAI's, and seed, negative_prompt, steps, guidance. */
export const imageBody = z.strictObject({
  prompt: promptText("prompt", MAX_PROMPT_CHARACTERS),
  model: z.string().min(1).nullish(),
  n: wholeNumber("n", 1, MAX_IMAGES).nullish(),
  size: z.string().nullish().describe("auto, or WIDTHxHEIGHT in pixels"),
  quality: oneOf("quality", ["auto", "low", "medium", "high", "standard", "hd"]).nullish(),
  response_format: oneOf("response_format", ["url", "b64_json"])
    .nullish()
    .describe("b64_json by default"),
  output_format: oneOf("output_format", FORMATS).nullish(),
  output_compression: wholeNumber("output_compression", 0, 100)
    .nullish()
    .describe("quality of JPEG and WebP, 100 by default"),
  background: oneOf("background", ["auto", "opaque", "transparent"])
    .nullish()
    .describe("transparent is refused: the models make opaque pictures"),
  moderation: oneOf("moderation", ["low", "auto"]).nullish(),
  style: oneOf("style", ["vivid", "natural"]).nullish(),
  user: z.string().max(512).nullish(),
  stream: booleanWord("stream").nullish(),
  partial_images: wholeNumber("partial_images", 0, 3).nullish(),
  seed: wholeNumber("seed", 0, Number.MAX_SAFE_INTEGER - MAX_IMAGES).nullish(),
  negative_prompt: boundedText("negative_prompt", MAX_PROMPT_CHARACTERS).nullish(),
  steps: wholeNumber("steps", 1, MAX_STEPS).nullish(),
  guidance: decimalNumber("guidance", 0, MAX_GUIDANCE).nullish(),
});

const FIDELITIES = ["low", "high"] as const;

/** A file part, or a list of it alone, as clients send it that know of several. */
function filePart(param: string) {
  const file = z.custom<UploadedFile>(
    (value) => z.object({ bytes: z.instanceof(Uint8Array) }).safeParse(value).success,
    { error: (issue) => `${param} must be one file part, got ${describe(issue.input)}` },
  );
  return z.preprocess(
    (value) => (Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value),
    file.meta({ type: "string", format: "binary" }),
  );
}

/** Body of `POST /v1/images/edits`, multipart: OpenAI's, and the fields that generations have besides. */
export const imageEditBody = imageBody.extend({
  image: filePart("image").describe("A PNG, JPEG or WebP."),
  mask: filePart("mask")
    .nullish()
    .describe("A PNG of the same size: where it is transparent the picture is made anew."),
  strength: decimalNumber("strength", LEAST_STRENGTH, 1)
    .nullish()
    .describe("How far from the picture: share of the steps that are taken."),
  input_fidelity: oneOf("input_fidelity", FIDELITIES)
    .nullish()
    .describe("high is a strength of 0.5"),
});

const OTHER_NAMES: readonly OtherNames[] = [
  SIDES,
  {
    own: "steps",
    fields: { num_inference_steps: wholeNumber("num_inference_steps", 1, MAX_STEPS) },
    toOwn: (steps = 0) => steps,
  },
  {
    own: "guidance",
    fields: { guidance_scale: decimalNumber("guidance_scale", 0, MAX_GUIDANCE) },
    toOwn: (scale = 0) => scale,
  },
];

export type ImageBody = z.infer<typeof imageBody>;

export interface ImageSize {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** An admitted request, as it is stored and travels on the queue. */
export const imageRequest = z.object({
  prompt: z.string(),
  /** What the picture must not show; null where nothing was said of it. */
  negativePrompt: z.string().nullable(),
  /** Pictures to make, 1 to 10. */
  n: z.int().positive(),
  /** Pixels. Null: the model's own. */
  size: z.object({ width: z.int().positive(), height: z.int().positive() }).nullable(),
  quality: z.enum(Object.values(QUALITIES)),
  format: z.enum(FORMATS),
  /** Quality of JPEG and WebP, 0 to 100. */
  compression: z.number(),
  delivery: z.enum(["url", "b64_json"]),
  stream: z.boolean(),
  /** Unfinished pictures to send of each one, 0 to 3; only where it streams. */
  partialImages: z.int().nonnegative(),
  /** Of the first picture; each further one adds 1. Same seed, same model, same inputs: same picture. */
  seed: z.int(),
  /** Denoising steps; null: the model's own for the quality. */
  steps: z.int().positive().nullable(),
  /** How strongly the prompt pulls; null: the model's own. */
  guidance: z.number().nullable(),
  /** The picture that is edited. */
  edit: z
    .object({
      image: artifact,
      /** Pixels, of `image`. */
      width: z.int().positive(),
      height: z.int().positive(),
      /** Grey, of the same size: white where the picture is made anew. */
      mask: artifact.nullable(),
      /** Share of the steps that are taken, above 0 to 1. */
      strength: z.number().positive(),
    })
    .exactOptional(),
});
export type ImageRequest = z.infer<typeof imageRequest>;

/** What the pipeline says of finished pictures. */
export const imageOutput = z.object({
  images: z
    .array(
      z.object({
        /** Name of its file. */
        variant: z.string(),
        mediaType: z.string(),
        width: z.int().positive(),
        height: z.int().positive(),
        seed: z.int(),
      }),
    )
    .readonly(),
  usage: z.object({
    /** Tokens of prompt and negative prompt. */
    inputTokens: z.int().nonnegative(),
    /** Of the picture that was edited; as those of the output. */
    imageTokens: z.int().nonnegative().exactOptional(),
    /** Squares of 16 × 16 pixels. */
    outputTokens: z.int().nonnegative(),
  }),
  notes: storedNotes,
});
export type ImageOutput = z.infer<typeof imageOutput>;

/** The request of a body; contradictions and what the model cannot make are refused. */
export function parseImageRequest(
  body: unknown,
  model: ModelInfo,
  drawSeed: () => number,
): ImageRequest {
  return toRequest(parseBody(imageBody, withOwnNames(body, OTHER_NAMES)), model, drawSeed);
}

/** Of diffusers' pipelines: most of the steps, or, under a mask, all of them. */
const STRENGTHS = { low: 0.8, high: 0.5 } as const;
const MASKED_STRENGTH = 1;

/** The same of a body with a picture; a model that encodes none is refused. */
export function parseImageEdit(body: unknown, model: ModelInfo, drawSeed: () => number) {
  const parsed = parseBody(imageEditBody, withOwnNames(body, OTHER_NAMES));
  if (!canEdit(model)) {
    const message = `model must encode pictures to edit them: ${model.id} makes them from a prompt alone, without a vae_encoder`;
    throw invalidValue("model", message);
  }
  const { image, mask, input_fidelity: fidelity } = parsed;
  const usual = mask && !fidelity ? MASKED_STRENGTH : STRENGTHS[fidelity ?? "low"];
  const strength = parsed.strength ?? usual;
  return { request: toRequest(parsed, model, drawSeed), image, mask, strength };
}

/** Packages of earlier builds do not say what they read: then the worker looks. */
export function canEdit({ reads }: ModelInfo): boolean {
  return reads === undefined || reads.includes("image");
}

function toRequest(parsed: ImageBody, model: ModelInfo, drawSeed: () => number): ImageRequest {
  const stream = parsed.stream ?? false;
  refuseContradictions(parsed, stream);
  return {
    prompt: parsed.prompt,
    negativePrompt: parsed.negative_prompt ?? null,
    n: parsed.n ?? 1,
    size: parseSize(parsed.size ?? "auto", model),
    quality: QUALITIES[parsed.quality ?? "auto"],
    ...deliveryOf(parsed, stream),
    // Drawn here and not by the worker: a second attempt must make the same pictures.
    seed: parsed.seed ?? drawSeed(),
    steps: parsed.steps ?? null,
    guidance: parsed.guidance ?? null,
  };
}

function deliveryOf(body: ImageBody, stream: boolean) {
  return {
    format: body.output_format ?? "png",
    compression: body.output_compression ?? 100,
    delivery: body.response_format ?? "b64_json",
    stream,
    partialImages: stream ? (body.partial_images ?? 0) : 0,
  };
}

function refuseContradictions(body: ImageBody, stream: boolean): void {
  const refuse = (param: keyof ImageBody, message: string): never => {
    throw invalidValue(param, message);
  };
  if (body.background === "transparent")
    refuse("background", "background must be auto or opaque: the models make opaque pictures");
  if ((body.output_format ?? "png") === "png" && (body.output_compression ?? 100) !== 100)
    refuse("output_compression", "output_compression is for jpeg and webp: png keeps every pixel");
  if (stream && body.response_format === "url")
    refuse("response_format", "response_format must be b64_json where stream is true, got url");
  if (!stream && (body.partial_images ?? 0) > 0)
    refuse("partial_images", "partial_images needs stream true");
}

function parseSize(size: string, model: ModelInfo): ImageSize | null {
  if (size === "auto") return null;
  const [, width = "", height = ""] = /^(\d{1,5})x(\d{1,5})$/.exec(size) ?? [];
  const refuse = (limit: string): never => {
    const message = `size must be auto or ${limit}, got ${describe(size)}`;
    throw invalidValue("size", message);
  };
  if (model.sizes && model.sizes.length > 0 && !model.sizes.includes(size))
    refuse(`one of ${model.sizes.join(", ")} for ${model.id}`);
  const sides = [Number(width), Number(height)];
  const isUsable = (side: number) =>
    side >= MIN_SIDE && side <= MAX_SIDE && side % SIDE_MULTIPLE === 0;
  if (!model.sizes?.includes(size) && !sides.every(isUsable))
    refuse(
      `WIDTHxHEIGHT with sides of ${MIN_SIDE} to ${MAX_SIDE} pixels, multiples of ${SIDE_MULTIPLE}`,
    );
  return { width: Number(width), height: Number(height) };
}
