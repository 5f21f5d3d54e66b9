import { z } from "zod";
import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import type { Exchange, Finished } from "../../core/modality.js";
import { answeredNotes } from "../shared/model-notes.js";
import { readPartials } from "./partial-chunks.js";
import type { ImageOutput, ImageRequest } from "./request.js";

const usageObject = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ text_tokens: z.int(), image_tokens: z.int() }),
  output_tokens: z.int().describe("squares of 16 × 16 pixels"),
  output_tokens_details: z.object({ text_tokens: z.int(), image_tokens: z.int() }),
  total_tokens: z.int(),
});

/** The answer to `POST /v1/images/generations` and `/v1/images/edits`, where it does not stream. */
export const imagesObject = z
  .object({
    created: z.int().describe("Unix time in seconds"),
    background: z.literal("opaque"),
    data: z.array(
      z.object({
        b64_json: z.string().optional(),
        url: z.string().optional().describe("works for an hour, without a key"),
      }),
    ),
    output_format: z.enum(["png", "jpeg", "webp"]),
    quality: z.enum(["low", "medium", "high"]),
    size: z.string(),
    usage: usageObject,
    model_notes: answeredNotes,
  })
  .meta({ id: "ImageList" });

const eventFields = {
  ...imagesObject.pick({ background: true, output_format: true, quality: true, size: true }).shape,
  b64_json: z.string(),
  created_at: z.int().describe("Unix time in seconds"),
  image_index: z.int().describe("which of the pictures it is"),
};

const partialFields = { ...eventFields, partial_image_index: z.int() };
const completedFields = { ...eventFields, usage: usageObject, model_notes: answeredNotes };

/** Data of an event, where the answer streams. */
export const imageEvent = z.discriminatedUnion("type", [
  z
    .object({ type: z.literal("image_generation.partial_image"), ...partialFields })
    .meta({ id: "PartialImageEvent" }),
  z
    .object({ type: z.literal("image_generation.completed"), ...completedFields })
    .meta({ id: "CompletedImageEvent" }),
]);

/** The same of a picture that was edited. */
export const imageEditEvent = z.discriminatedUnion("type", [
  z
    .object({ type: z.literal("image_edit.partial_image"), ...partialFields })
    .meta({ id: "PartialImageEditEvent" }),
  z
    .object({ type: z.literal("image_edit.completed"), ...completedFields })
    .meta({ id: "CompletedImageEditEvent" }),
]);

type ImageEvent = z.infer<typeof imageEvent> | z.infer<typeof imageEditEvent>;

type ImageExchange = Exchange<ImageRequest, ImageOutput>;

export async function answerImages(exchange: ImageExchange): Promise<Answer> {
  if (exchange.request.stream) return { mediaType: EVENT_STREAM, body: imageEvents(exchange) };
  return { json: await renderImages(exchange) };
}

async function renderImages(exchange: ImageExchange): Promise<z.infer<typeof imagesObject>> {
  const { request } = exchange;
  const { output, completedAtMs } = await exchange.finished();
  const render = async (variant: string) =>
    request.delivery === "url"
      ? { url: exchange.fileUrl(variant) }
      : { b64_json: toBase64(await exchange.readFile(variant)) };
  return {
    created: Math.floor(completedAtMs / 1_000),
    ...commonFields(request),
    data: await Promise.all(output.images.map(({ variant }) => render(variant))),
    size: sizeOf(output.images[0]),
    usage: renderUsage(output.usage),
    model_notes: [...(output.notes ?? [])],
  };
}

/** Unfinished pictures as they come, then each finished one; the shape of OpenAI's stream. */
async function* imageEvents(exchange: ImageExchange): AsyncGenerator<string> {
  const { request } = exchange;
  for await (const { bytes, partial, index, ...size } of readPartials(exchange.chunks)) {
    yield event({
      type: request.edit ? "image_edit.partial_image" : "image_generation.partial_image",
      ...commonFields(request),
      b64_json: toBase64(bytes),
      created_at: Math.floor(exchange.createdAtMs / 1_000),
      partial_image_index: partial,
      image_index: index,
      size: sizeOf(size),
    });
  }
  yield* completedEvents(exchange, await exchange.finished());
}

async function* completedEvents(
  exchange: ImageExchange,
  { output: { images, usage, notes = [] }, completedAtMs }: Finished<ImageOutput>,
): AsyncGenerator<string> {
  for (const [index, image] of images.entries()) {
    yield event({
      type: exchange.request.edit ? "image_edit.completed" : "image_generation.completed",
      ...commonFields(exchange.request),
      b64_json: toBase64(await exchange.readFile(image.variant)),
      created_at: Math.floor(completedAtMs / 1_000),
      image_index: index,
      size: sizeOf(image),
      // Each picture read the whole prompt, and the picture that it edits.
      usage: renderUsage({ ...usage, outputTokens: usage.outputTokens / images.length }),
      model_notes: [...notes],
    });
  }
}

function event(data: ImageEvent): string {
  return serverSentEvent(data, data.type);
}

function commonFields({ format, quality }: ImageRequest) {
  return { background: "opaque", output_format: format, quality } as const;
}

function renderUsage({ inputTokens, imageTokens = 0, outputTokens }: ImageOutput["usage"]) {
  const input = inputTokens + imageTokens;
  return {
    input_tokens: input,
    input_tokens_details: { text_tokens: inputTokens, image_tokens: imageTokens },
    output_tokens: outputTokens,
    output_tokens_details: { text_tokens: 0, image_tokens: outputTokens },
    total_tokens: input + outputTokens,
  };
}

function sizeOf(image: { readonly width: number; readonly height: number } | undefined): string {
  return `${image?.width ?? 0}x${image?.height ?? 0}`;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
