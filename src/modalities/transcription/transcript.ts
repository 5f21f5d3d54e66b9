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
