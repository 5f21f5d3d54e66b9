import { randomInt } from "node:crypto";
import { z } from "zod";
import { type AdmitContext, defineModality, FILE_BODY_BYTES } from "../../core/modality.js";
import type { Prices } from "../../core/usage.js";
import { answerImages, imageEditEvent, imageEvent, imagesObject } from "./answer.js";
import {
  canEdit,
  imageBody,
  imageEditBody,
  imageOutput,
  type ImageOutput,
  imageRequest,
  type ImageRequest,
  parseImageEdit,
  parseImageRequest,
} from "./request.js";

const PRICES: Record<ImageRequest["quality"], Prices> = {
  low: { images: 10_000 },
  medium: { images: 20_000 },
  high: { images: 40_000 },
};

const drawSeed = () => randomInt(2 ** 47);

/** What pictures have in common, whether they are made from words or from another. */
const common = {
  schemas: { request: imageRequest, output: imageOutput },
  responseSchema: () => z.toJSONSchema(imagesObject),
  prices: { tierOf: ({ quality }: ImageRequest) => quality, byTier: PRICES },
  mostUnits: ({ n }: ImageRequest) => ({ images: n }),
  countUnits: (_request: ImageRequest, { images }: ImageOutput) => ({ images: images.length }),
  promptsOf: ({ prompt }: ImageRequest) => [prompt],
  answer: answerImages,
};

export const image = defineModality<"image", ImageRequest, ImageOutput>({
  ...common,
  name: "image",
  endpoint: {
    path: "/v1/images/generations",
    delivery: "reply",
    object: "image",
    idPrefix: "img_",
    variants: [],
    modelOptional: true,
  },
  example: () => ({ prompt: "a red boat on a calm sea" }),
  requestSchema: () => z.toJSONSchema(imageBody, { io: "input", unrepresentable: "any" }),
  eventSchema: () => z.toJSONSchema(imageEvent),
  isEdit: ({ edit }) => edit !== undefined,
  admit: async (body, { model }) => parseImageRequest(body, model, drawSeed),
  loadPipeline: async () => (await import("./pipeline.js")).createImagePipeline,
});

export const imageEdit = defineModality<"image-edit", ImageRequest, ImageOutput>({
  ...common,
  name: "image-edit",
  endpoint: {
    path: "/v1/images/edits",
    delivery: "reply",
    object: "image.edit",
    idPrefix: "imgedit_",
    variants: [],
    modelOptional: true,
    bodyTypes: ["multipart/form-data"],
    maxBodyBytes: FILE_BODY_BYTES,
  },
  modelsOf: "image",
  serves: canEdit,
  example: () => ({
    prompt: "a red boat on a calm sea",
    image: { filename: "grey.png", mediaType: "image/png", bytes: Buffer.from(GREY, "base64") },
  }),
  requestSchema: () => z.toJSONSchema(imageEditBody, { io: "input", unrepresentable: "any" }),
  eventSchema: () => z.toJSONSchema(imageEditEvent),
  admit: admitEdit,
  loadPipeline: async () => {
    // Models belong to the image modality, and so does the pipeline that runs them.
    throw new Error("edits run in the pipeline of image models");
  },
});

async function admitEdit(body: unknown, context: AdmitContext): Promise<ImageRequest> {
  const { request, image: file, mask, strength } = parseImageEdit(body, context.model, drawSeed);
  const { readImage, readMask } = await import("../../media/image.js");
  const picture = await readImage(file.bytes, { param: "image" });
  const grey = mask && (await readMask(mask.bytes, { param: "mask", picture: file.bytes }));
  const { width, height } = picture;
  return {
    ...request,
    edit: {
      image: await context.saveInput(picture.bytes, picture.mediaType),
      width,
      height,
      mask: grey ? await context.saveInput(grey.bytes, grey.mediaType) : null,
      strength,
    },
  };
}

/** A PNG of 64 × 64 grey pixels. */
const GREY =
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAAA1BMVEWAgICQdD0xAAAAD0lEQVQoz2NgGAWjgHwAAAJAAAGMxat3AAAAAElFTkSuQmCC";
