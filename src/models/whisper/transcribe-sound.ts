import type { Span } from "../speech-recognition/speech-spans.js";
import {
  detectLanguage,
  isSilent,
  startTokens,
  transcribeWindow,
  type WindowTask,
  type WindowText,
} from "./transcribe-window.js";
import type { WhisperDecoder } from "./decoder.js";
import { type WhisperModel, whisperText } from "./model.js";
import { FRAME_REACH, HOP_SAMPLES, type LogMel, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm.js";
import type {
  TranscribedWindow,
  TokenLogprob,
  TranscriptSegment,
  TranscriptWord,
} from "../speech-recognition/transcription-model.js";
import type { WhisperTokens } from "./settings.js";
import { alignTokens, groupWords } from "./word-times.js";

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

/** What Whisper hears at once: 30 s. */
export const WINDOW_SAMPLES = 30 * SPEECH_RATE_HZ;
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
export async function* transcribeSound(task: SoundTask): AsyncGenerator<TranscribedWindow> {
  const previous = promptTokens(task);
  const context: Context = { language: task.language, previous };
  for await (const region of task.regions) {
    // After silence, what was said before misleads more often than it helps.
    context.previous = previous;
    let from = region.start;
    do {
      task.signal.throwIfAborted();
      const window = await transcribeOne(task, context, { region, from });
      yield window;
      from = Math.max(window.settledSample, from + LEAST_SAMPLES);
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

async function transcribeOne(
  task: SoundTask,
  context: Context,
  place: Place,
): Promise<TranscribedWindow> {
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
    (it) => it.start < Math.min(it.end, steps) && whisperText(model, it.tokens).trim() !== "",
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

/**
 * The 30 s from sample `from` on, silent beyond the region's end, with what surrounds them as the
 * features need it: at the sound's beginning its mirror image, elsewhere what is there.
 */
export async function readWindow(pcm: PcmFile, region: Span, from: number): Promise<Float32Array> {
  const start = from - FRAME_REACH;
  // Whisper drops the last frame, which is centred on the window's end.
  const samples = await pcm.read(start, from + WINDOW_SAMPLES + FRAME_REACH - HOP_SAMPLES);
  samples.fill(0, Math.min(samples.length, region.end - start));
  if (from !== 0) return samples;
  for (let at = 1; at <= FRAME_REACH; at++)
    samples[FRAME_REACH - at] = samples[FRAME_REACH + at] ?? 0;
  return samples;
}

/** Consecutive tokens of a window with the times around them, in steps of 0.02 s from its start. */
interface SpokenSegment {
  readonly start: number;
  readonly end: number;
  /** Text and times. */
  readonly tokens: readonly number[];
  /** Place of the first token in the window. */
  readonly offset: number;
}

/**
 * Cuts a window's tokens at pairs of times; the next window starts where this one is `settled`. What follows the last pair was cut off by the window's end
 * and is left to the next window, except where the window ends with a single time or has no pair.
 * `length` is that of the window's sound, in steps of 0.02 s.
 */
export function segmentWindow(
  tokens: readonly number[],
  { firstTimestamp }: Pick<WhisperTokens, "firstTimestamp">,
  length: number,
) {
  const isTime = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const cuts = tokens.flatMap((id, at) =>
    at > 0 && isTime(id) && isTime(tokens[at - 1]) ? [at] : [],
  );
  const endsComplete = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const timeOf = (id: number | undefined) => Math.max(0, (id ?? 0) - firstTimestamp);
  if (cuts.length === 0) {
    const start = timeOf(tokens[0]);
    const end = timeOf(tokens.at(-1));
    const whole = { start, end: end > start ? end : length, tokens, offset: 0 };
    return { segments: [whole], settled: length };
  }
  if (endsComplete) cuts.push(tokens.length);
  const segments = cuts.map((cut, index): SpokenSegment => {
    const offset = cuts[index - 1] ?? 0;
    const own = tokens.slice(offset, cut);
    return { start: timeOf(own[0]), end: timeOf(own.at(-1)), tokens: own, offset };
  });
  return {
    segments,
    settled: endsComplete ? length : Math.min(segments.at(-1)?.end ?? length, length),
  };
}

/** A word with its times in seconds from the window's start. */
interface TimedWord {
  readonly word: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const FRAMES_A_SECOND = 50;
const PAUSE_AFTER = /[.。!！?？,，、;；:：…]["'”’)\]]*$/u;
/** A word of usual length lasts no longer than this, seconds; twice that is suspicious. */
const MAX_USUAL_SECONDS = 0.7;

/** Times of the words of a window, by where the decoder looks while it reads the whole text again. */
async function timeWords(
  { model, decoder, language }: Pick<WindowTask, "model" | "decoder" | "language">,
  { tokens }: Pick<WindowText, "tokens">,
  soundSeconds: number,
): Promise<TimedWord[]> {
  const { endOfText } = model.settings.tokens;
  const said = tokens.filter((id) => id < endOfText);
  if (said.length === 0) return [];
  const start = startTokens(model, { language, withTimestamps: false });
  const layers = await decoder.attend([...start, ...said, endOfText]);
  // The row that reads a token is where the next one is heard: it starts one row early.
  const first = start.length - 1;
  const frames = alignTokens({
    layers,
    heads: model.settings.alignmentHeads,
    first,
    end: first + said.length + 1,
    frames: Math.round(soundSeconds * FRAMES_A_SECOND),
  });
  const secondsAt = (token: number) => (frames[token] ?? 0) / FRAMES_A_SECOND;
  const words = groupWords(said, (ids) => whisperText(model, ids), language).map((word) => ({
    word: word.text.trim(),
    startSeconds: secondsAt(word.first),
    endSeconds: secondsAt(word.end),
  }));
  return shortenPauses(words.filter(({ word }) => word !== ""));
}

/** A pause is no part of the word beside it: it follows punctuation, else it came before the word. */
function shortenPauses(words: readonly TimedWord[]): TimedWord[] {
  const lengths = words.map((it) => it.endSeconds - it.startSeconds).filter((it) => it > 0);
  const sorted = lengths.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const longest = 2 * Math.min(MAX_USUAL_SECONDS, median);
  return words.map((word) => {
    if (word.endSeconds - word.startSeconds <= longest) return word;
    return PAUSE_AFTER.test(word.word)
      ? { ...word, endSeconds: word.startSeconds + longest }
      : { ...word, startSeconds: word.endSeconds - longest };
  });
}
