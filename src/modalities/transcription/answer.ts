import { z } from "zod";
import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import type {
  TokenLogprob,
  TranscriptSegment,
} from "../../models/speech-recognition/transcription-model.js";
import { languageName } from "./languages.js";
import type {
  Transcript,
  TranscriptDelta,
  TranscriptionOutput,
  TranscriptionRequest,
} from "./request.js";

export type TranscriptionExchange = Exchange<
  TranscriptionRequest,
  TranscriptionOutput,
  TranscriptDelta
>;

/** The transcript in the form that was asked for, or its events as it is heard. */
export async function answerTranscription(exchange: TranscriptionExchange): Promise<Answer> {
  const { request } = exchange;
  if (request.stream) return await answerStream(exchange);
  const { durationSeconds, transcript } = (await exchange.finished()).output;
  const plain = (body: string): Answer => ({ mediaType: "text/plain; charset=utf-8", body });
  switch (request.format) {
    case "text":
      return plain(`${transcript.text}\n`);
    case "srt":
      return plain(formatSrt(transcript.segments));
    case "vtt":
      return { mediaType: "text/vtt; charset=utf-8", body: formatVtt(transcript.segments) };
    case "verbose_json":
      return { json: verboseJson(transcript, durationSeconds, request) };
    case "json":
      break;
  }
  return { json: plainJson(transcript, durationSeconds, request) };
}

/** Sound is counted in whole seconds, begun ones included. */
export function billedSeconds(durationSeconds: number): number {
  return Math.ceil(durationSeconds);
}

function usage(durationSeconds: number) {
  return { type: "duration", seconds: billedSeconds(durationSeconds) };
}

function withLogprobs(
  logprobs: readonly TokenLogprob[],
  { logprobs: isAsked }: TranscriptionRequest,
) {
  return isAsked ? { logprobs } : {};
}

function plainJson(transcript: Transcript, seconds: number, request: TranscriptionRequest) {
  const { text, logprobs } = transcript;
  return { text, ...withLogprobs(logprobs, request), usage: usage(seconds) };
}

function verboseJson(
  { text, language, segments, words }: Transcript,
  seconds: number,
  { granularities }: TranscriptionRequest,
) {
  return {
    task: "transcribe",
    language: languageName(language),
    duration: seconds,
    text,
    ...(granularities.includes("segment") && { segments: segments.map(segmentObject) }),
    ...(granularities.includes("word") && {
      words: words.map(({ word, startSeconds, endSeconds }) => ({
        word,
        start: startSeconds,
        end: endSeconds,
      })),
    }),
    usage: usage(seconds),
  };
}

function segmentObject(segment: Transcript["segments"][number], id: number) {
  return {
    id,
    seek: segment.seek,
    start: segment.startSeconds,
    end: segment.endSeconds,
    text: segment.text,
    tokens: segment.tokens,
    temperature: segment.temperature,
    avg_logprob: segment.averageLogprob,
    compression_ratio: segment.compressionRatio,
    no_speech_prob: segment.noSpeechProbability,
  };
}

/** Waits for the first text, so that a refusal still has its own status. */
async function answerStream(exchange: TranscriptionExchange): Promise<Answer> {
  const events = streamEvents(exchange);
  const first = await events.next();
  async function* body() {
    if (!first.done) yield first.value;
    yield* events;
  }
  return { mediaType: EVENT_STREAM, body: body() };
}

async function* streamEvents(exchange: TranscriptionExchange): AsyncGenerator<string> {
  const { request } = exchange;
  for await (const chunk of exchange.chunks) {
    if (chunk.type !== "json") continue;
    const { delta, logprobs } = chunk.value;
    const type = "transcript.text.delta";
    yield serverSentEvent({ type, delta, ...withLogprobs(logprobs, request) });
  }
  const { transcript, durationSeconds } = (await exchange.finished()).output;
  const type = "transcript.text.done";
  yield serverSentEvent({ type, ...plainJson(transcript, durationSeconds, request) });
}

type Cue = Pick<TranscriptSegment, "startSeconds" | "endSeconds" | "text">;

/** SubRip: numbered cues, comma before milliseconds. */
export function formatSrt(segments: readonly Cue[]): string {
  return segments
    .map((segment, index) => {
      const times = `${timestamp(segment.startSeconds, ",")} --> ${timestamp(segment.endSeconds, ",")}`;
      return `${index + 1}\n${times}\n${line(segment.text).replaceAll("-->", "->")}\n\n`;
    })
    .join("");
}

/** WebVTT (W3C, 2019): header, cues, character references for what would be markup. */
export function formatVtt(segments: readonly Cue[]): string {
  const cues = segments.map((segment) => {
    const times = `${timestamp(segment.startSeconds, ".")} --> ${timestamp(segment.endSeconds, ".")}`;
    return `${times}\n${escapeMarkup(line(segment.text))}\n\n`;
  });
  return `WEBVTT\n\n${cues.join("")}`;
}

/** hh:mm:ss and milliseconds; hours grow beyond two digits where they must. */
function timestamp(seconds: number, mark: "," | "."): string {
  const total = Math.max(0, Math.round(seconds * 1_000));
  const pad = (value: number, digits = 2) => `${Math.floor(value)}`.padStart(digits, "0");
  const clock = `${pad(total / 3_600_000)}:${pad((total / 60_000) % 60)}:${pad((total / 1_000) % 60)}`;
  return `${clock}${mark}${pad(total % 1_000, 3)}`;
}

/** One line: an empty one would end the cue. */
function line(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const seconds = z.number().describe("Seconds from the start of the sound.");

/** Answers `json` and `verbose_json`; the other formats are text. */
export const transcriptionObject = z.object({
  text: z.string(),
  usage: z.object({
    type: z.literal("duration"),
    seconds: z.int().describe("Length of the sound, begun seconds included."),
  }),
  logprobs: z
    .array(z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() }))
    .optional(),
  task: z.literal("transcribe").optional(),
  language: z.string().optional(),
  duration: z.number().optional(),
  segments: z
    .array(
      z.object({
        id: z.int(),
        seek: z.int(),
        start: seconds,
        end: seconds,
        text: z.string(),
        tokens: z.array(z.int()),
        temperature: z.number(),
        avg_logprob: z.number(),
        compression_ratio: z.number(),
        no_speech_prob: z.number(),
      }),
    )
    .optional(),
  words: z.array(z.object({ word: z.string(), start: seconds, end: seconds })).optional(),
});
