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

const usageObject = z.object({
  type: z.literal("duration"),
  seconds: z.int().describe("Length of the sound, begun seconds included."),
});

const offsetSeconds = z.number().describe("Seconds from the start of the sound.");

const timedSegment = z
  .object({
    id: z.int(),
    seek: z.int(),
    start: offsetSeconds,
    end: offsetSeconds,
    text: z.string(),
    tokens: z.array(z.int()),
    temperature: z.number(),
    avg_logprob: z.number(),
    compression_ratio: z.number(),
    no_speech_prob: z.number(),
  })
  .meta({ id: "TranscriptionSegment" });

const logprob = z
  .object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() })
  .meta({ id: "TranscriptionLogprob" });

const plainFields = {
  text: z.string(),
  logprobs: z.array(logprob).optional().describe("where `include` asks for them"),
  usage: usageObject,
};

/** The answer `json`. */
const plainTranscription = z.object(plainFields).meta({ id: "PlainTranscription" });

/** The answer `verbose_json`. */
const verboseTranscription = z
  .object({
    task: z.literal("transcribe"),
    language: z.string(),
    duration: z.number(),
    text: z.string(),
    segments: z.array(timedSegment).optional(),
    words: z
      .array(z.object({ word: z.string(), start: offsetSeconds, end: offsetSeconds }))
      .optional(),
    usage: usageObject,
  })
  .meta({ id: "VerboseTranscription" });

/** Answers `verbose_json` and `json`; the other formats are text. */
export const transcriptionObject = z.union([verboseTranscription, plainTranscription]);

/** Data of an event, where the answer streams. */
export const transcriptionEvent = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("transcript.text.delta"),
      delta: z.string(),
      logprobs: plainFields.logprobs,
    })
    .meta({ id: "TranscriptTextDeltaEvent" }),
  z
    .object({ type: z.literal("transcript.text.done"), ...plainFields })
    .meta({ id: "TranscriptTextDoneEvent" }),
]);

export const TEXT = "text/plain; charset=utf-8";
export const WEBVTT = "text/vtt; charset=utf-8";

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
  const plain = (body: string): Answer => ({ mediaType: TEXT, body });
  switch (request.format) {
    case "text":
      return plain(`${transcript.text}\n`);
    case "srt":
      return plain(formatSrt(transcript.segments));
    case "vtt":
      return { mediaType: WEBVTT, body: formatVtt(transcript.segments) };
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

function usage(durationSeconds: number): z.infer<typeof usageObject> {
  return { type: "duration", seconds: billedSeconds(durationSeconds) };
}

function withLogprobs(
  logprobs: readonly TokenLogprob[],
  { logprobs: isAsked }: TranscriptionRequest,
) {
  return isAsked ? { logprobs: logprobs.map((one) => ({ ...one, bytes: [...one.bytes] })) } : {};
}

function plainJson(
  transcript: Transcript,
  seconds: number,
  request: TranscriptionRequest,
): z.infer<typeof plainTranscription> {
  const { text, logprobs } = transcript;
  return { text, ...withLogprobs(logprobs, request), usage: usage(seconds) };
}

function verboseJson(
  { text, language, segments, words }: Transcript,
  seconds: number,
  { granularities }: TranscriptionRequest,
): z.infer<typeof verboseTranscription> {
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

function segmentObject(
  found: Transcript["segments"][number],
  id: number,
): z.infer<typeof timedSegment> {
  return {
    id,
    seek: found.seek,
    start: found.startSeconds,
    end: found.endSeconds,
    text: found.text,
    tokens: [...found.tokens],
    temperature: found.temperature,
    avg_logprob: found.averageLogprob,
    compression_ratio: found.compressionRatio,
    no_speech_prob: found.noSpeechProbability,
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
    yield event({ type: "transcript.text.delta", delta, ...withLogprobs(logprobs, request) });
  }
  const { transcript, durationSeconds } = (await exchange.finished()).output;
  yield event({
    type: "transcript.text.done",
    ...plainJson(transcript, durationSeconds, request),
  });
}

function event(data: z.infer<typeof transcriptionEvent>): string {
  return serverSentEvent(data);
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
