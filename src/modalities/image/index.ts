import { randomInt } from "node:crypto";
import { z } from "zod";
import { defineModality } from "../../core/modality.js";
import type { Prices } from "../../core/usage.js";
import { answerImages, imageEvent, imagesObject } from "./answer.js";
import {
  imageOutput,
  imageRequest,
  imageBody,
  type ImageOutput,
  type ImageRequest,
  parseImageRequest,
} from "./request.js";

const PRICES: Record<ImageRequest["quality"], Prices> = {
  low: { images: 10_000 },
  medium: { images: 20_000 },
  high: { images: 40_000 },
};

export const image = defineModality<"image", ImageRequest, ImageOutput>({
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
  schemas: { request: imageRequest, output: imageOutput },
  requestSchema: () => z.toJSONSchema(imageBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(imagesObject),
  eventSchema: () => z.toJSONSchema(imageEvent),
  admit: async (body, { model }) => parseImageRequest(body, model, () => randomInt(2 ** 47)),
  prices: { tierOf: ({ quality }) => quality, byTier: PRICES },
  mostUnits: ({ n }) => ({ images: n }),
  countUnits: (_request, { images }) => ({ images: images.length }),
  promptsOf: ({ prompt }) => [prompt],
  answer: answerImages,
  loadPipeline: async () => (await import("./pipeline.js")).createImagePipeline,
});
