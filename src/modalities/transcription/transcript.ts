import { z } from "zod";

/** A stretch of a transcript, with the measures that tell speech from invention. */
const segment = z.object({
  /** Place of its window in the sound, in frames of 10 ms. */
  seek: z.int().nonnegative(),
  startSeconds: z.number(),
  endSeconds: z.number(),
  /** As decoded: with the space before it. */
  text: z.string(),
  tokens: z.array(z.int()).readonly(),
  temperature: z.number(),
  averageLogprob: z.number(),
  compressionRatio: z.number(),
  noSpeechProbability: z.number(),
});

const word = z.object({ word: z.string(), startSeconds: z.number(), endSeconds: z.number() });

const tokenLogprobs = z
  .array(
    z.object({
      token: z.string(),
      /** UTF-8. */
      bytes: z.array(z.int()).readonly(),
      logprob: z.number(),
    }),
  )
  .readonly();

/** What a sound says; the parts that its request asked for. */
const transcript = z.object({
  /** ISO 639 code. */
  language: z.string(),
  text: z.string(),
  segments: z.array(segment).readonly(),
  words: z.array(word).readonly(),
  logprobs: tokenLogprobs,
});
export type Transcript = z.infer<typeof transcript>;

/** What the pipeline says of a finished job. */
export const transcriptionOutput = z.object({
  durationSeconds: z.number().nonnegative(),
  transcript,
});
export type TranscriptionOutput = z.infer<typeof transcriptionOutput>;

/** A piece of text as it is heard, for requests that stream. */
export const transcriptDelta = z.object({ delta: z.string(), logprobs: tokenLogprobs });
export type TranscriptDelta = z.infer<typeof transcriptDelta>;
