import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import { formatSrt, formatVtt } from "./captions.js";
import { languageName } from "./languages.js";
import type { TranscriptionRequest } from "./request.js";
import type { TokenLogprob } from "../../models/speech-recognition/transcription-model.js";
import { type Transcript, type TranscriptDelta, type TranscriptionOutput } from "./transcript.js";

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
  { logprobs: wanted }: TranscriptionRequest,
) {
  return wanted ? { logprobs } : {};
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
