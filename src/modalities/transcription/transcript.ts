import type {
  TokenLogprob,
  TranscriptSegment,
  TranscriptWord,
} from "../../models/speech-recognition/listener.js";

/** What a sound says; the parts that its request asked for. */
export interface Transcript {
  /** ISO 639 code. */
  readonly language: string;
  readonly text: string;
  readonly segments: readonly TranscriptSegment[];
  readonly words: readonly TranscriptWord[];
  readonly logprobs: readonly TokenLogprob[];
}

/** What the pipeline says of a finished job. */
export interface TranscriptionOutput {
  readonly durationSeconds: number;
  readonly transcript: Transcript;
}

/** A piece of text as it is heard, for requests that stream. */
export interface TranscriptDelta {
  readonly delta: string;
  readonly logprobs: readonly TokenLogprob[];
}
