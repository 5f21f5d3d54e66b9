import { segmentWindow, type SpokenSegment } from "./spoken-segments.js";
import type { Span } from "../speech-recognition/speech-spans.js";
import { timeWords } from "./time-words.js";
import {
  detectLanguage,
  isSilent,
  transcribeWindow,
  type WindowText,
} from "./transcribe-window.js";
import type { WhisperDecoder } from "./whisper-decoder.js";
import { type WhisperModel, whisperText } from "./whisper-model.js";
import { HOP_SAMPLES, type LogMel, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm-file.js";
import { WINDOW_SAMPLES } from "./sound-regions.js";
import { readWindow } from "./sound-window.js";
import type {
  HeardWindow,
  TokenLogprob,
  TranscriptSegment,
  TranscriptWord,
} from "../speech-recognition/listener.js";

export interface SoundTask {
  readonly model: WhisperModel;
  readonly decoder: WhisperDecoder;
  readonly logMel: LogMel;
  readonly pcm: PcmFile;
  /** Where to listen, in order. */
  readonly regions: AsyncIterable<Span> | Iterable<Span>;
  /** ISO 639 code; null to detect it in the first window. */
  readonly language: string | null;
  readonly prompt: string;
  readonly temperatures: readonly number[];
  readonly withTimestamps: boolean;
  readonly withWords: boolean;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Steps of Whisper's times in samples: 0.02 s. */
const STEP_SAMPLES = 2 * HOP_SAMPLES;
/** A window settles at least a second, and a shorter rest is not listened to: so every sound ends. */
const LEAST_SAMPLES = SPEECH_RATE_HZ;
/** Text drawn at a higher temperature is no example for what follows. */
const MAX_EXAMPLE_TEMPERATURE = 0.5;

/** What travels from window to window. */
interface Context {
  language: string | null;
  previous: readonly number[];
}

/**
 * Listens window by window: each starts where the last complete piece of the one before ended, and
 * knows what was said so far in its region (Radford et al. 2022, 3.8).
 */
export async function* transcribeSound(task: SoundTask): AsyncGenerator<HeardWindow> {
  const previous = promptTokens(task);
  const context: Context = { language: task.language, previous };
  for await (const region of task.regions) {
    // After silence, what was said before misleads more often than it helps.
    context.previous = previous;
    let from = region.start;
    do {
      task.signal.throwIfAborted();
      const heard = await hearWindow(task, context, { region, from });
      yield heard;
      from = Math.max(heard.settledSample, from + LEAST_SAMPLES);
    } while (from + LEAST_SAMPLES <= region.end);
  }
}

/** What the caller wrote is text: steering tokens in it steer nothing. */
function promptTokens({ model: { tokenizer, settings }, prompt }: SoundTask): number[] {
  const text = prompt.trim();
  if (text === "") return [];
  const { ids } = tokenizer.encode(` ${text}`, { addSpecialTokens: false });
  return ids.filter((id) => id < settings.tokens.endOfText);
}

interface Place {
  readonly region: Span;
  /** First sample of the window. */
  readonly from: number;
}

async function hearWindow(task: SoundTask, context: Context, place: Place): Promise<HeardWindow> {
  const { model, decoder, pcm, logMel } = task;
  const { region, from } = place;
  const length = Math.min(region.end - from, WINDOW_SAMPLES);
  const nothing = { settledSample: from + length, segments: [], words: [], logprobs: [] };
  const samples = await readWindow(pcm, region, from);
  if (samples.every((sample) => sample === 0)) return { ...nothing, language: null };
  await decoder.hear(logMel(samples));
  context.language ??= await detectLanguage(model, decoder);
  const { language, previous } = context;
  const text = await transcribeWindow({ ...task, language, previous });
  if (isSilent(text)) return { ...nothing, language };
  const steps = Math.ceil(length / STEP_SAMPLES);
  const { segments, settled } = segmentWindow(text.tokens, model.settings.tokens, steps);
  const said = segments.filter(
    (it) => it.start < Math.min(it.end, steps) && isText(model, it.tokens),
  );
  const kept = said.flatMap(({ tokens }) => tokens);
  const isExample = text.temperature <= MAX_EXAMPLE_TEMPERATURE;
  context.previous = isExample ? [...previous, ...kept].slice(-model.settings.maxTokens) : [];
  return {
    language,
    settledSample: Math.min(from + settled * STEP_SAMPLES, nothing.settledSample),
    segments: said.map((it) => toSegment(model, it, { text, from, length })),
    words: task.withWords ? await wordsOf(task, { language, kept, from, length }) : [],
    logprobs: said.flatMap((it) => logprobsOf(model, it, text)),
  };
}

function isText(model: WhisperModel, tokens: readonly number[]): boolean {
  return whisperText(model, tokens).trim() !== "";
}

interface WindowPlace {
  readonly text: WindowText;
  readonly from: number;
  readonly length: number;
}

function toSegment(
  model: WhisperModel,
  { start, end, tokens }: SpokenSegment,
  { text, from, length }: WindowPlace,
): TranscriptSegment {
  const secondsAt = (step: number) => toSeconds(from + Math.min(step * STEP_SAMPLES, length));
  return {
    seek: Math.floor(from / HOP_SAMPLES),
    startSeconds: secondsAt(start),
    endSeconds: secondsAt(end),
    text: whisperText(model, tokens),
    tokens,
    temperature: text.temperature,
    averageLogprob: text.averageLogprob,
    compressionRatio: text.compressionRatio,
    noSpeechProbability: text.noSpeechProbability,
  };
}

async function wordsOf(
  { model, decoder }: SoundTask,
  window: {
    readonly language: string | null;
    readonly kept: readonly number[];
    readonly from: number;
    readonly length: number;
  },
): Promise<TranscriptWord[]> {
  const { language, kept, from, length } = window;
  const task = { model, decoder, language };
  const words = await timeWords(task, { tokens: kept }, length / SPEECH_RATE_HZ);
  return words.map(({ word, startSeconds, endSeconds }) => ({
    word,
    startSeconds: toSeconds(from + startSeconds * SPEECH_RATE_HZ),
    endSeconds: toSeconds(from + endSeconds * SPEECH_RATE_HZ),
  }));
}

function logprobsOf(
  { tokenizer, settings }: WhisperModel,
  { tokens, offset }: SpokenSegment,
  { logprobs }: WindowText,
): TokenLogprob[] {
  return tokens.flatMap((id, at) => {
    if (id >= settings.tokens.endOfText) return [];
    const bytes = tokenizer.bytes?.bytesOf(id) ?? Buffer.from(tokenizer.decode([id]));
    const token = Buffer.from(bytes).toString("utf8");
    return [{ token, bytes: [...bytes], logprob: logprobs[offset + at] ?? 0 }];
  });
}

/** Seconds to the millisecond. */
function toSeconds(sample: number): number {
  return Math.round((sample / SPEECH_RATE_HZ) * 1_000) / 1_000;
}
