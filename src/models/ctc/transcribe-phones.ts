import { alignWords, type WordPlace } from "./align-words.js";
import type { FoundWord, Spelled } from "./search.js";
import type { CtcModel, HeardPhones } from "./model.js";
import {
  compressionRatio,
  type TranscribedWindow,
  type TranscriptSegment,
  type TranscriptWord,
  type VoiceDetection,
} from "../speech-recognition/transcription-model.js";
import { createSpanFinder, type Span, type SpanRules } from "../speech-recognition/speech-spans.js";
import { FRAME_REACH, HOP_SAMPLES, type LogMel, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm.js";

export interface PhoneTask {
  readonly model: CtcModel;
  readonly logMel: LogMel;
  readonly pcm: PcmFile;
  /** Words that come before the sound. */
  readonly prompt: string;
  readonly detection: VoiceDetection;
  readonly withWords: boolean;
  readonly signal: AbortSignal;
}

/** Of a window, the longest stretch without a pause; a longer one is cut where it is quietest. */
const LONGEST_SHARE = 0.8;

/** What one window says by phones, and where in the sound it lies. */
interface Window {
  readonly phones: HeardPhones;
  /** First sample. */
  readonly from: number;
  readonly stepSamples: number;
}

/**
 * Listens window by window: the model's own silence cuts each into stretches of speech, which are read
 * one by one; one that the window's end cuts off is left to the next window.
 */
export async function* transcribePhones(task: PhoneTask): AsyncGenerator<TranscribedWindow> {
  const { settings } = task.model;
  const stepSamples = settings.framesPerStep * HOP_SAMPLES;
  const windowSteps = Math.floor((settings.windowSeconds * SPEECH_RATE_HZ) / stepSamples);
  let before = task.model.stateAfter(task.prompt.split(/[^\p{L}']+/u).slice(-MOST_CONTEXT));
  let from = 0;
  while (from < task.pcm.sampleCount) {
    task.signal.throwIfAborted();
    const left = Math.ceil((task.pcm.sampleCount - from) / stepSamples);
    const steps = Math.min(windowSteps, left);
    const phones = await hear(task, from, steps);
    if (phones === undefined) {
      from += steps * stepSamples;
      yield { language: null, segments: [], words: [], logprobs: [], settledSample: from };
      continue;
    }
    const window = { phones, from, stepSamples };
    const { spans, settledStep } = speechSpans(task, window, steps === left);
    from += settledStep * stepSamples;
    yield readSpans(task, window, { spans, before, settledSample: from });
    before = task.model.stateAfter([]);
  }
}

/** Words of a prompt that the language model can see. */
const MOST_CONTEXT = 2;

/** Undefined for digital silence. */
async function hear(
  { model, logMel, pcm }: PhoneTask,
  from: number,
  steps: number,
): Promise<HeardPhones | undefined> {
  const frames = steps * model.settings.framesPerStep;
  const end = from + (frames - 1) * HOP_SAMPLES + FRAME_REACH;
  const samples = await pcm.read(from - FRAME_REACH, end);
  if (samples.every((sample) => sample === 0)) return undefined;
  return await model.hear(logMel(samples));
}

/** Stretches of speech in steps, and up to where the window is settled. */
function speechSpans(
  { model, detection }: PhoneTask,
  { phones: { states } }: Window,
  isLast: boolean,
): { readonly spans: readonly Span[]; readonly settledStep: number } {
  const rules = spanRules(detection, model.settings.framesPerStep);
  const longestSamples = Math.ceil(states.steps * (isLast ? 2 : LONGEST_SHARE));
  const finder = createSpanFinder(1, { ...rules, longestSamples });
  const spans: Span[] = [];
  for (let step = 0; step < states.steps; step++) {
    const span = finder.add(1 - silenceAt(states, step));
    if (span !== undefined) spans.push(span);
  }
  const open = finder.finish();
  if (isLast) return { spans: open ? [...spans, open] : spans, settledStep: states.steps };
  const settled = open?.start ?? states.steps - rules.paddingSamples;
  return { spans, settledStep: Math.max(settled, spans.at(-1)?.end ?? 0, 1) };
}

/** In steps of the model, which stand for samples here. */
function spanRules(
  { threshold = 0.5, silenceMs = 450, paddingMs = 150 }: VoiceDetection,
  framesPerStep: number,
): Omit<SpanRules, "longestSamples"> {
  const steps = (ms: number) => Math.round(ms / (10 * framesPerStep));
  return {
    threshold,
    silenceSamples: Math.max(1, steps(silenceMs)),
    paddingSamples: steps(paddingMs),
    shortestSamples: steps(90),
  };
}

/** Probability that nobody speaks. */
function silenceAt({ logprobs, phones }: Spelled, step: number): number {
  return Math.exp(logprobs[step * phones] ?? -Infinity);
}

interface Stretches {
  readonly spans: readonly Span[];
  /** The language model's state before the first. */
  readonly before: number;
  readonly settledSample: number;
}

function readSpans(
  task: PhoneTask,
  window: Window,
  { spans, before, settledSample }: Stretches,
): TranscribedWindow {
  const { model } = task;
  const read = spans.flatMap((span, index) => {
    const spelling = cut(window.phones.spelling, span);
    const found = model.read(spelling, index === 0 ? before : model.stateAfter([]));
    return found.length === 0 ? [] : [{ found, span, places: placesOf(window, span, found) }];
  });
  return {
    language: read.length === 0 ? null : model.settings.language,
    segments: read.map((it) => toSegment(model, window, it)),
    words: task.withWords ? read.flatMap((it) => toWords(model, window, it)) : [],
    logprobs: read.flatMap(({ found }) =>
      found.map(({ word, logprob }) => {
        const token = ` ${model.words[word] ?? ""}`;
        return { token, bytes: [...Buffer.from(token)], logprob };
      }),
    ),
    settledSample,
  };
}

interface ReadSpan {
  readonly found: readonly FoundWord[];
  readonly span: Span;
  /** Of each word, in steps of the window. */
  readonly places: readonly WordPlace[];
}

function cut({ logprobs, phones }: Spelled, { start, end }: Span): Spelled {
  const last = Math.min(end, logprobs.length / phones);
  return {
    logprobs: logprobs.subarray(start * phones, last * phones),
    phones,
    steps: last - start,
  };
}

function placesOf(
  { phones }: Window,
  span: Span,
  found: readonly FoundWord[],
): readonly WordPlace[] {
  const states = cut(phones.states, span);
  const places = alignWords(
    states,
    found.map((word) => word.phones),
  );
  return (places ?? found).map(({ first, end }) => ({
    first: span.start + first,
    end: span.start + end,
  }));
}

function toSegment(model: CtcModel, window: Window, read: ReadSpan): TranscriptSegment {
  const { found, places, span } = read;
  const text = found.map(({ word }) => ` ${model.words[word] ?? ""}`).join("");
  const end = Math.min(span.end, window.phones.states.steps);
  let silence = 0;
  for (let step = span.start; step < end; step++) silence += silenceAt(window.phones.states, step);
  return {
    seek: Math.floor(window.from / HOP_SAMPLES),
    startSeconds: secondsAt(window, places[0]?.first ?? span.start),
    endSeconds: secondsAt(window, places.at(-1)?.end ?? span.end),
    text,
    tokens: found.map(({ word }) => word),
    temperature: 0,
    averageLogprob: found.reduce((sum, { logprob }) => sum + logprob, 0) / found.length,
    compressionRatio: compressionRatio(text),
    noSpeechProbability: silence / Math.max(1, end - span.start),
  };
}

function toWords(
  model: CtcModel,
  window: Window,
  { found, places }: ReadSpan,
): readonly TranscriptWord[] {
  return found.map(({ word }, index) => ({
    word: model.words[word] ?? "",
    startSeconds: secondsAt(window, places[index]?.first ?? 0),
    endSeconds: secondsAt(window, places[index]?.end ?? 0),
  }));
}

/** Seconds from the sound's start, to the millisecond. */
function secondsAt({ from, stepSamples }: Window, step: number): number {
  return Math.round(((from + step * stepSamples) / SPEECH_RATE_HZ) * 1_000) / 1_000;
}
