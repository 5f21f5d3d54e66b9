import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { HOP_SAMPLES, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import type { Span } from "./speech-spans.js";
import {
  compressionRatio,
  type TranscribedWindow,
  type TranscriptionInput,
  type TranscriptionModel,
  type TranscriptSegment,
  type TranscriptWord,
} from "./transcription-model.js";
import { openVoiceDetector, voiceRegions } from "./voice-detection.js";

/** A token as it was heard in a stretch of sound. */
export interface HeardToken {
  readonly id: number;
  /** With the space before it where it begins a word. */
  readonly text: string;
  /** Natural. */
  readonly logprob: number;
  /** Seconds from the start of the stretch; absent where the model cannot tell. */
  readonly place?: { readonly startSeconds: number; readonly endSeconds: number };
}

/** What a stretch of sound says. */
export interface Heard {
  readonly tokens: readonly HeardToken[];
  /** ISO 639 code, where the model tells it. */
  readonly language?: string;
}

/** A model that hears a stretch of sound at once, knowing nothing of those before it. */
export interface StretchListener {
  /** `samples` are mono, 16 kHz, in [-1, 1], at least a quarter of a second. */
  hear(
    samples: Float32Array,
    asked: Pick<TranscriptionInput, "language" | "signal">,
  ): Promise<Heard>;
  /** Why it cannot tell when words are said; undefined where it can. */
  readonly whyNoWordTimes?: string;
  close(): Promise<void>;
}

const shapes = z.object({
  languages: z.array(z.string().min(2)).min(1),
  /** Heard at once; longer sound is cut at pauses. */
  windowSeconds: z.number().min(1).max(600).default(30),
});

const LEAST_SAMPLES = SPEECH_RATE_HZ / 4;
/** ISO 639's code for a language that nobody determined. */
const UNDETERMINED = "und";

/** A model of stretches, with the voice detector of its package where it has one. */
export async function createStretchRecogniser(
  model: ModelPackage,
  setup: PipelineSetup,
  listener: StretchListener,
): Promise<TranscriptionModel> {
  const settings = parseSettings(shapes, model.shapes, `${model.path}/model.json: shapes`);
  const voice = await openVoiceDetector(model, setup);
  const longestSamples = settings.windowSeconds * SPEECH_RATE_HZ;
  return {
    modelId: model.id,
    languages: settings.languages,
    whyNoWordTimes: listener.whyNoWordTimes,
    maxSeconds: model.limits.maxSeconds,
    transcribe: (sound) => transcribe({ ...settings, listener, voice, longestSamples }, sound),
    async close() {
      await Promise.all([listener.close(), voice?.close()]);
    },
  };
}

interface Recogniser {
  readonly listener: StretchListener;
  readonly voice: Graphs | undefined;
  readonly languages: readonly string[];
  readonly longestSamples: number;
}

async function* transcribe(
  recogniser: Recogniser,
  sound: TranscriptionInput,
): AsyncGenerator<TranscribedWindow> {
  const { listener, languages } = recogniser;
  for await (const span of stretchesOf(recogniser, sound)) {
    sound.signal.throwIfAborted();
    const settled = { settledSample: span.end, segments: [], words: [], logprobs: [] };
    const samples = await sound.pcm.read(
      span.start,
      Math.max(span.end, span.start + LEAST_SAMPLES),
    );
    samples.fill(0, span.end - span.start);
    const isSilent = samples.every((sample) => sample === 0);
    const { tokens, language } = isSilent ? { tokens: [] } : await listener.hear(samples, sound);
    if (tokens.length === 0) {
      yield { ...settled, language: null };
      continue;
    }
    const only = languages.length === 1 ? languages[0] : undefined;
    yield {
      settledSample: span.end,
      language: language ?? sound.language ?? only ?? UNDETERMINED,
      segments: cutSegments(tokens).map((part) => toSegment(part, span)),
      words: sound.withWords ? toWords(tokens, span) : [],
      logprobs: tokens.map(({ text, logprob }) => ({
        token: text,
        bytes: [...Buffer.from(text)],
        logprob,
      })),
    };
  }
}

function stretchesOf(
  { voice, longestSamples }: Recogniser,
  { pcm, voiceDetection, signal }: TranscriptionInput,
): AsyncIterable<Span> {
  const detection = voiceDetection ?? (pcm.sampleCount > longestSamples ? {} : null);
  return voice !== undefined && detection !== null
    ? voiceRegions(pcm, { thread: voice, detection, longestSamples, signal })
    : quietStretches(pcm, longestSamples);
}

/** The loudness of this much around it says how quiet a place is. */
const QUIET_SAMPLES = SPEECH_RATE_HZ / 5;

/** All of the sound in stretches of at most `longest` samples, each cut where its last third is quietest. */
async function* quietStretches(pcm: PcmFile, longest: number): AsyncGenerator<Span> {
  let start = 0;
  while (start < pcm.sampleCount) {
    let end = Math.min(pcm.sampleCount, start + longest);
    if (end < pcm.sampleCount) {
      const from = start + Math.floor((2 * longest) / 3);
      end = from + quietestPlace(await pcm.read(from, end));
    }
    yield { start, end };
    start = end;
  }
}

/** The middle of the quietest fifth of a second. */
function quietestPlace(samples: Float32Array): number {
  let [best, least] = [samples.length, Infinity];
  for (let from = 0; from + QUIET_SAMPLES <= samples.length; from += HOP_SAMPLES) {
    let energy = 0;
    for (let at = from; at < from + QUIET_SAMPLES; at++) energy += (samples[at] ?? 0) ** 2;
    if (energy < least) [best, least] = [from + QUIET_SAMPLES / 2, energy];
  }
  return best;
}

const SENTENCE_END = /[.!?…。！？]["'”’)\]]*$/u;
/** A pause that ends a segment, seconds. */
const PAUSE_SECONDS = 0.6;
/** Scripts without spaces: each character is a word. */
const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Tokens that make a word, with the punctuation behind it. */
type Word = HeardToken[];

function groupWords(tokens: readonly HeardToken[]): Word[] {
  const words: Word[] = [];
  for (const token of tokens) {
    const word = words.at(-1);
    if (word === undefined || startsWord(token.text, word.at(-1)?.text)) words.push([token]);
    else word.push(token);
  }
  return words;
}

function startsWord(text: string, before = ""): boolean {
  if (/^\s/.test(text) || SPACELESS.test(text)) return true;
  return SPACELESS.test(before) && /^[\p{L}\p{N}]/u.test(text);
}

/** Cuts behind sentences and at pauses; a stretch without times is one segment. */
function cutSegments(tokens: readonly HeardToken[]): HeardToken[][] {
  if (tokens.some(({ place }) => place === undefined)) return [[...tokens]];
  const segments: HeardToken[][] = [];
  for (const word of groupWords(tokens)) {
    const segment = segments.at(-1);
    if (segment === undefined || startsSegment(segment.at(-1), word[0])) segments.push(word);
    else segment.push(...word);
  }
  return segments;
}

function startsSegment(last: HeardToken | undefined, next: HeardToken | undefined): boolean {
  const pause = (next?.place?.startSeconds ?? 0) - (last?.place?.endSeconds ?? 0);
  return SENTENCE_END.test(last?.text ?? "") || pause >= PAUSE_SECONDS;
}

function toSegment(tokens: readonly HeardToken[], span: Span): TranscriptSegment {
  const text = textOf(tokens);
  return {
    ...placeOf(tokens, span),
    seek: Math.floor(span.start / HOP_SAMPLES),
    text,
    tokens: tokens.map(({ id }) => id),
    temperature: 0,
    averageLogprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length,
    compressionRatio: compressionRatio(text),
    noSpeechProbability: 0,
  };
}

function toWords(tokens: readonly HeardToken[], span: Span): TranscriptWord[] {
  return groupWords(tokens).flatMap((word) => {
    const text = textOf(word).trim();
    return text === "" ? [] : [{ word: text, ...placeOf(word, span) }];
  });
}

function textOf(tokens: readonly HeardToken[]): string {
  return tokens.map(({ text }) => text).join("");
}

/** Seconds from the sound's start, to the millisecond. */
function placeOf(tokens: readonly HeardToken[], { start, end }: Span) {
  const origin = start / SPEECH_RATE_HZ;
  const length = (end - start) / SPEECH_RATE_HZ;
  const rounded = (seconds: number) =>
    Math.round((origin + Math.min(seconds, length)) * 1_000) / 1_000;
  const first = tokens.find(({ text }) => text.trim() !== "");
  return {
    startSeconds: rounded(first?.place?.startSeconds ?? 0),
    endSeconds: rounded(tokens.at(-1)?.place?.endSeconds ?? length),
  };
}
