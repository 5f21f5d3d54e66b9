import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Chunk } from "#framemill/core/events.js";
import type { Exchange } from "#framemill/core/modality.js";
import { answerImages } from "#framemill/modalities/image/answer.js";
import { partialChunks } from "#framemill/modalities/image/partial-chunks.js";
import {
  type ImageOutput,
  type ImageRequest,
  parseImageRequest,
} from "#framemill/modalities/image/request.js";

const model = { id: "model-1", modality: "image", createdAtSeconds: 0, concurrency: 1 };
const size = { width: 128, height: 64 };
const files: Readonly<Record<string, Uint8Array>> = {
  "image-0": Buffer.from("first"),
  "image-1": Buffer.from("second"),
};
const output: ImageOutput = {
  images: Object.keys(files).map((variant, index) => ({
    variant,
    mediaType: "image/png",
    width: 128,
    height: 64,
    seed: index,
  })),
  usage: { inputTokens: 5, outputTokens: 64 },
};

function exchangeOf(body: unknown, chunks: readonly Chunk[]): Exchange<ImageRequest, ImageOutput> {
  return {
    id: "img_1",
    model: model.id,
    serviceTier: "default",
    path: "/v1/images/generations",
    createdAtMs: 1_790_000_000_000,
    request: parseImageRequest(body, model, () => 1),
    chunks: (async function* () {
      yield* chunks;
    })(),
    finished: async () => ({
      output,
      usage: { images: 2, gpuMs: 1 },
      completedAtMs: 1_790_000_005_000,
    }),
    readFile: async (variant) => files[variant] ?? new Uint8Array(),
    fileUrl: (variant) => `https://example.test/${variant}`,
  };
}

/** OpenAI's own client before an answer that never was on a wire. */
function client(chunks: readonly Chunk[] = []): OpenAI {
  const fetch = async (_url: unknown, init?: { body?: unknown }): Promise<Response> => {
    const body: unknown = JSON.parse(String(init?.body));
    const answer = await answerImages(exchangeOf(body, chunks));
    if ("json" in answer) return Response.json(answer.json);
    const pieces: string[] = [];
    for await (const piece of answer.body as AsyncIterable<string>) pieces.push(piece);
    return new Response(pieces.join(""), { headers: { "content-type": answer.mediaType } });
  };
  return new OpenAI({ apiKey: "key", baseURL: "http://localhost/v1", fetch, maxRetries: 0 });
}

const decode = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64").toString();

describe("the answer to an image request", () => {
  test("carries the files as base64, with their size and usage", async () => {
    const reply = await client().images.generate({ prompt: "a boat", n: 2 });
    expect(reply.data?.map(({ b64_json }) => decode(b64_json))).toEqual(["first", "second"]);
    expect(reply).toMatchObject({
      created: 1_790_000_005,
      size: "128x64",
      quality: "medium",
      output_format: "png",
      background: "opaque",
      usage: { input_tokens: 5, output_tokens: 64, total_tokens: 69 },
    });
  });

  test("carries addresses where they are asked for", async () => {
    const reply = await client().images.generate({ prompt: "a boat", response_format: "url" });
    expect(reply.data?.[1]).toEqual({ url: "https://example.test/image-1" });
  });

  test("streams unfinished pictures, whole however they were cut, then the finished ones", async () => {
    const large = Buffer.alloc(500_000, 3);
    const whole = [...partialChunks({ partial: 0, index: 0, ...size, bytes: large })];
    expect(whole).toHaveLength(4);
    const cut = whole.flatMap((chunk): Chunk[] =>
      chunk.type === "json"
        ? [chunk]
        : [chunk.bytes.subarray(0, 10), chunk.bytes.subarray(10)].map((bytes) => ({
            type: "bytes",
            bytes,
          })),
    );
    const small = partialChunks({ partial: 1, index: 0, ...size, bytes: Buffer.from("half") });
    const stream = await client([...cut, ...small]).images.generate({
      prompt: "a boat",
      n: 2,
      stream: true,
      partial_images: 2,
    });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
      "image_generation.completed",
    ]);
    expect(decode(events[0]?.b64_json)).toBe(large.toString());
    expect(events[1]).toMatchObject({ partial_image_index: 1, size: "128x64", quality: "medium" });
    expect(events.slice(2).map(({ b64_json }) => decode(b64_json))).toEqual(["first", "second"]);
    expect(events[3]).toMatchObject({ usage: { input_tokens: 5, output_tokens: 32 } });
  });
});
