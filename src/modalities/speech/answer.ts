import { z } from "zod";
import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import type { Chunk } from "../../core/events.js";
import type { Exchange } from "../../core/modality.js";
import { answeredNotes, notesHeader } from "../shared/model-notes.js";
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
export const speechEvent = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("speech.audio.delta"),
      audio: z.base64().describe("The next bytes of the file"),
    })
    .meta({ id: "SpeechAudioDeltaEvent" }),
  z
    .object({ type: z.literal("speech.audio.done"), usage, model_notes: answeredNotes })
    .meta({ id: "SpeechAudioDoneEvent" }),
]);
type SpeechEvent = z.infer<typeof speechEvent>;

/** The sound whole, or as it is made, or events that carry it. */
export async function answerSpeech(exchange: SpeechExchange): Promise<Answer> {
  const { format, isEventStream, isWhole = false } = exchange.request;
  if (isEventStream) return { mediaType: EVENT_STREAM, body: speechEvents(exchange) };
  const mediaType = AUDIO_MEDIA_TYPES[format];
  if (!isWhole) return { mediaType, body: soundOf(exchange.chunks) };
  const { output } = await exchange.finished();
  const headers = notesHeader(output.notes);
  return { mediaType, headers, body: await exchange.readFile("content") };
}

async function* soundOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) if (chunk.type === "bytes") yield chunk.bytes;
}

async function* speechEvents(exchange: SpeechExchange): AsyncGenerator<string> {
  for await (const bytes of soundOf(exchange.chunks)) {
    const audio = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    yield event({ type: "speech.audio.delta", audio });
  }
  const { output } = await exchange.finished();
  const outputTokens = Math.round(output.audioSeconds * AUDIO_TOKENS_PER_SECOND);
  const counted: z.infer<typeof usage> = {
    input_tokens: output.inputTokens,
    output_tokens: outputTokens,
    total_tokens: output.inputTokens + outputTokens,
  };
  const notes = [...(output.notes ?? [])];
  yield event({ type: "speech.audio.done", usage: counted, model_notes: notes });
}

function event(data: SpeechEvent): string {
  return serverSentEvent(data);
}
