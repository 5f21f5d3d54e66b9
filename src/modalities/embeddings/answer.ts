import { z } from "zod";
import type { Answer } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import type { EmbeddingsOutput, EmbeddingsRequest } from "./request.js";

/** The answer of `POST /v1/embeddings`. */
export const embeddingsReply = z
  .object({
    object: z.literal("list"),
    data: z.array(
      z.object({
        object: z.literal("embedding"),
        index: z.int(),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe("floats, or little-endian float32 in base64"),
      }),
    ),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  })
  .meta({ id: "EmbeddingList" });

const FLOAT_BYTES = 4;

export async function answerEmbeddings(
  exchange: Exchange<EmbeddingsRequest, EmbeddingsOutput>,
): Promise<Answer> {
  const { output } = await exchange.finished();
  const { inputs, encodingFormat } = exchange.request;
  const { dimensions, inputTokens: tokens } = output;
  const bytes = Buffer.from(output.vectors, "base64");
  const rowBytes = dimensions * FLOAT_BYTES;
  const data = inputs.map((_, index) => {
    const row = bytes.subarray(index * rowBytes, (index + 1) * rowBytes);
    const embedding = encodingFormat === "base64" ? row.toString("base64") : floatsIn(row);
    return { object: "embedding" as const, index, embedding };
  });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const reply: z.infer<typeof embeddingsReply> = {
    object: "list",
    data,
    model: exchange.model,
    usage,
  };
  return { json: reply };
}

function floatsIn(bytes: Buffer): number[] {
  return Array.from({ length: bytes.byteLength / FLOAT_BYTES }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES),
  );
}
