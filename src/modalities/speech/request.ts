import { z } from "zod";
import { AUDIO_FORMATS, type AudioFormat } from "../../core/audio-format.js";
import type { ModelInfo } from "../../core/modality.js";
import { storedNotes } from "../shared/model-notes.js";
import { describe, invalidValue, NOT_BLANK, oneOf, parseBody } from "../shared/request-body.js";

/** Formats that hold a C2PA manifest, which stands before the sound that it is about. */
const MARKED_FORMATS: ReadonlySet<AudioFormat> = new Set(["mp3", "wav", "flac"]);

const MAX_CHARACTERS = 4_096;
const STREAM_FORMATS = ["audio", "sse"] as const;

const text = (param: string) =>
  z
    .string({ error: (issue) => `${param} must be a string, got ${describe(issue.input)}` })
    .refine((value) => countCharacters(value) <= MAX_CHARACTERS, {
      error: (issue) =>
        `${param} must be at most ${MAX_CHARACTERS} characters, got ${countCharacters(String(issue.input))}`,
    })
    // As JSON schema counts, too: by code points.
    .meta({ maxLength: MAX_CHARACTERS });

const voiceName = z.string().min(1).max(128);
const voiceError = { error: "voice must be a name or {id}" };

const speedError = (issue: { readonly input?: unknown }) =>
  `speed must be a number from 0.25 to 4, got ${describe(issue.input)}`;

/** Body of `POST /v1/audio/speech`. */
export const speechBody = z.strictObject({
  model: z.string().min(1),
  input: text("input")
    .regex(NOT_BLANK, "input must not be empty")
    .describe("What to say, at most 4096 characters."),
  voice: z
    .union([voiceName, z.strictObject({ id: voiceName })], voiceError)
    .describe("A voice of the model, or a standard name, which stands for one of them."),
  response_format: oneOf("response_format", AUDIO_FORMATS).optional(),
  speed: z
    .number({ error: speedError })
    .min(0.25, { error: speedError })
    .max(4, { error: speedError })
    .optional(),
  stream_format: oneOf("stream_format", STREAM_FORMATS)
    .optional()
    .describe(
      "`audio` or `sse`: the sound comes as it is made. Left out, MP3, WAV and FLAC come whole, with a manifest that says a model made them.",
    ),
  instructions: text("instructions")
    .optional()
    .describe("Accepted and not used: no model takes any."),
  language: z
    .string({ error: (issue) => `language must be a string, got ${describe(issue.input)}` })
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, {
      error: (issue) => `language must be a code such as en-GB, got ${describe(issue.input)}`,
    })
    .max(32)
    .optional()
    .describe("BCP 47 code of the text's language, where it is not the voice's own."),
});

/** An admitted request, as it travels on the queue. */
export const speechRequest = z.object({
  model: z.string(),
  input: z.string(),
  /** As the model calls it; as it was asked for, where the model lists no voices. */
  voice: z.string(),
  format: z.enum(AUDIO_FORMATS),
  /** 0.25 to 4. */
  speed: z.number(),
  /** Whether the answer is events that hold the sound, or the sound itself. */
  isEventStream: z.boolean(),
  /** Whether the sound leaves as one file, which can hold a manifest, or as it is made. */
  isWhole: z.boolean().optional(),
  language: z.string().nullable(),
});
export type SpeechRequest = z.infer<typeof speechRequest>;

/** What the pipeline says of a finished speech. */
export const speechOutput = z.object({
  audioSeconds: z.number().nonnegative(),
  /** Sounds and marks that the model read. */
  inputTokens: z.int().nonnegative(),
  notes: storedNotes,
});
export type SpeechOutput = z.infer<typeof speechOutput>;

/** The parsed body, its voice one of the model's. */
export function parseSpeechBody(body: unknown, { voices = [] }: ModelInfo): SpeechRequest {
  const parsed = parseBody(speechBody, body);
  const asked = typeof parsed.voice === "string" ? parsed.voice : parsed.voice.id;
  const format = parsed.response_format ?? "mp3";
  return {
    model: parsed.model,
    input: parsed.input,
    voice: voices.length > 0 ? findVoice(asked, voices) : asked,
    format,
    speed: parsed.speed ?? 1,
    isEventStream: parsed.stream_format === "sse",
    isWhole: parsed.stream_format === undefined && MARKED_FORMATS.has(format),
    language: parsed.language ?? null,
  };
}

/** Unicode code points: what is sold. */
export function countCharacters(value: string): number {
  return Array.from(value).length;
}

/** The voices of OpenAI's interface, in the order of its reference. */
const STANDARD_VOICES = [
  "alloy",
  "ash",
  "ballad",
  "coral",
  "echo",
  "fable",
  "onyx",
  "nova",
  "sage",
  "shimmer",
  "verse",
  "marin",
  "cedar",
] as const;

/**
 * The model's voice for the one that was asked for: its own id; else, for a standard name, the first of
 * its voices that is called so (`af_alloy` for `alloy`); else the one at the standard name's place in
 * the model's list, counted round. Throws `invalid_value` for any other name.
 */
export function findVoice(asked: string, voices: readonly string[]): string {
  if (voices.includes(asked)) return asked;
  const place = STANDARD_VOICES.findIndex((name) => name === asked);
  const namesake = voices.find((voice) => voice.split(/[_-]/).slice(1).includes(asked));
  const voice = place < 0 ? undefined : (namesake ?? voices[place % voices.length]);
  if (voice !== undefined) return voice;
  const names = [...voices, ...STANDARD_VOICES].join(", ");
  const message = `voice must be one of ${names}, got ${JSON.stringify(asked.slice(0, 40))}`;
  throw invalidValue("voice", message);
}
