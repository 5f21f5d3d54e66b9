import { deflateSync } from "node:zlib";
import type { PcmFile } from "../../media/pcm.js";

/** A model that recognises speech, whatever its family. */
export interface TranscriptionModel {
  readonly modelId: string;
  /** ISO 639 codes that a caller may name. */
  readonly languages: readonly string[];
  /** Why it cannot tell when words are said; undefined where it can. */
  readonly whyNoWordTimes: string | undefined;
  readonly maxSeconds: number | undefined;
  /** Windows in order; each is settled. */
  transcribe(sound: TranscriptionInput): AsyncIterable<TranscribedWindow>;
  close(): Promise<void>;
}

/** A sound, and what is asked of it. */
export interface TranscriptionInput {
  readonly pcm: PcmFile;
  /** ISO 639 code; null to detect it. */
  readonly language: string | null;
  /** Words that come before the sound. */
  readonly prompt: string;
  /** 0 to 1; 0 raises itself where the text is doubtful. */
  readonly temperature: number;
  /** Null to cut long sound only. */
  readonly voiceDetection: VoiceDetection | null;
  /** Whether segments, and words, need their times. */
  readonly withTimestamps: boolean;
  readonly withWords: boolean;
  readonly signal: AbortSignal;
}

/** When voice counts as speech; absent parts are the pipeline's own. */
export interface VoiceDetection {
  readonly paddingMs?: number;
  readonly silenceMs?: number;
  /** Probability, 0 to 1. */
  readonly threshold?: number;
}

/** What one window of sound says. */
export interface TranscribedWindow {
  readonly segments: readonly TranscriptSegment[];
  readonly words: readonly TranscriptWord[];
  readonly logprobs: readonly TokenLogprob[];
  /** ISO 639 code; null while nothing was heard that tells it. */
  readonly language: string | null;
  /** Everything before this sample is settled. */
  readonly settledSample: number;
}

/** A stretch of a transcript, with the measures that tell speech from invention. */
export interface TranscriptSegment {
  /** Place of its window in the sound, in frames of 10 ms. */
  readonly seek: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** As decoded: with the space before it. */
  readonly text: string;
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly averageLogprob: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
}

export interface TranscriptWord {
  readonly word: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

export interface TokenLogprob {
  readonly token: string;
  /** UTF-8. */
  readonly bytes: readonly number[];
  readonly logprob: number;
}

/** Bytes of a text over their deflated length: repetition makes it great. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.byteLength / deflateSync(bytes).byteLength;
}
