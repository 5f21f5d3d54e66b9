import { z } from "zod";
import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import type { Chunk } from "../../core/events.js";
import type { Exchange } from "../../core/modality.js";
import type { SpeechOutput, SpeechRequest } from "./request.js";

/** Tokens a second of sound, as OpenAI counts them. */
const AUDIO_TOKENS_PER_SECOND = 20;

type SpeechExchange = Exchange<SpeechRequest, SpeechOutput>;

const usage = z.object({
  input_tokens: z.int().describe("Sounds and marks that the model read"),
  output_tokens: z.int().describe("20 for a second of sound"),
  total_tokens: z.int(),
});

/** The events of `stream_format: "sse"`; otherwise the answer is the sound itself. */
export const speechEvent = z.object({
  type: z.enum(["speech.audio.delta", "speech.audio.done"]),
  audio: z.base64().optional().describe("The next bytes of the file, with the delta"),
  usage: usage.optional().describe("With the last event"),
});

/** The sound as it is made, or events that carry it. */
export async function answerSpeech(exchange: SpeechExchange): Promise<Answer> {
  const { format, isEventStream } = exchange.request;
  return isEventStream
    ? { mediaType: EVENT_STREAM, body: speechEvents(exchange) }
    : { mediaType: AUDIO_MEDIA_TYPES[format], body: soundOf(exchange.chunks) };
}

async function* soundOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) if (chunk.type === "bytes") yield chunk.bytes;
}

async function* speechEvents(exchange: SpeechExchange): AsyncGenerator<string> {
  for await (const bytes of soundOf(exchange.chunks)) {
    const audio = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    yield serverSentEvent({ type: "speech.audio.delta", audio });
  }
  const { output } = await exchange.finished();
  const outputTokens = Math.round(output.audioSeconds * AUDIO_TOKENS_PER_SECOND);
  const counted: z.infer<typeof usage> = {
    input_tokens: output.inputTokens,
    output_tokens: outputTokens,
    total_tokens: output.inputTokens + outputTokens,
  };
  yield serverSentEvent({ type: "speech.audio.done", usage: counted });
}
