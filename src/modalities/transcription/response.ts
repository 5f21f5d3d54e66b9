import { z } from "zod";

const seconds = z.number().describe("Seconds from the start of the sound.");

/** Answers `json` and `verbose_json`; the other formats are text. */
export const transcriptionObject = z.object({
  text: z.string(),
  usage: z.object({
    type: z.literal("duration"),
    seconds: z.int().describe("Length of the sound, begun seconds included."),
  }),
  logprobs: z
    .array(z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() }))
    .optional(),
  task: z.literal("transcribe").optional(),
  language: z.string().optional(),
  duration: z.number().optional(),
  segments: z
    .array(
      z.object({
        id: z.int(),
        seek: z.int(),
        start: seconds,
        end: seconds,
        text: z.string(),
        tokens: z.array(z.int()),
        temperature: z.number(),
        avg_logprob: z.number(),
        compression_ratio: z.number(),
        no_speech_prob: z.number(),
      }),
    )
    .optional(),
  words: z.array(z.object({ word: z.string(), start: seconds, end: seconds })).optional(),
});
