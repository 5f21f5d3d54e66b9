import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { UploadedFile } from "../../core/modality.js";
import type { VoiceDetection } from "../../models/speech-recognition/transcription-model.js";
import {
  artifact,
  booleanWord,
  decimalNumber,
  describe,
  invalidValue,
  oneOf,
  parseBody,
  wholeNumber,
} from "../shared/request-body.js";
import { findLanguage } from "./languages.js";

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

const MAX_FILE_BYTES = 25 * 1024 * 1024;
/** Longest sound where the model sets no bound, seconds. */
export const MAX_SECONDS = 7_200;
const MAX_PROMPT_CHARACTERS = 8_192;

const FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;
type TranscriptFormat = (typeof FORMATS)[number];
const GRANULARITIES = ["word", "segment"] as const;

/** One of some words; multipart forms send a list of one as the word alone. */
const words = <const Word extends string>(param: string, allowed: readonly Word[]) => {
  const error = (issue: { readonly input?: unknown }) =>
    `${param} must be of ${allowed.join(", ")}, got ${describe(issue.input)}`;
  const term = z.enum(allowed, { error });
  return z.preprocess(
    (value) => (typeof value === "string" ? [value] : value),
    z.array(term, { error }).max(allowed.length),
  );
};

const uploadedFile = z.custom<UploadedFile>(
  (value) => z.object({ bytes: z.instanceof(Uint8Array) }).safeParse(value).success,
  { error: (issue) => `file must be a file part, got ${describe(issue.input)}` },
);

const voiceDetection = z.strictObject({
  type: z.literal("server_vad"),
  prefix_padding_ms: wholeNumber("chunking_strategy.prefix_padding_ms", 0, 5_000).optional(),
  silence_duration_ms: wholeNumber("chunking_strategy.silence_duration_ms", 0, 10_000).optional(),
  threshold: decimalNumber("chunking_strategy.threshold", 0, 1).optional(),
});

/** Body of `POST /v1/audio/transcriptions`, multipart. */
export const transcriptionBody = z.strictObject({
  file: uploadedFile.meta({ type: "string", format: "binary" }),
  model: z.string().min(1),
  language: z.string().max(40).optional().describe("ISO 639-1 code or English name."),
  prompt: z
    .string()
    .max(MAX_PROMPT_CHARACTERS, {
      error: `prompt must be at most ${MAX_PROMPT_CHARACTERS} characters`,
    })
    .optional(),
  response_format: oneOf("response_format", FORMATS).optional(),
  temperature: decimalNumber("temperature", 0, 1).optional(),
  timestamp_granularities: words("timestamp_granularities", GRANULARITIES).optional(),
  include: words("include", ["logprobs"]).optional(),
  stream: booleanWord("stream").optional(),
  chunking_strategy: z.union([z.literal("auto"), voiceDetection]).nullish(),
});

type TranscriptionBody = z.infer<typeof transcriptionBody>;

/** An admitted request, as it is stored and travels on the queue. */
export const transcriptionRequest = z.object({
  model: z.string(),
  audio: artifact,
  /** ISO 639 code; null to detect it. */
  language: z.string().nullable(),
  prompt: z.string(),
  format: z.enum(FORMATS),
  /** 0 to 1; 0 raises itself where the text is doubtful. */
  temperature: z.number(),
  granularities: z.array(z.enum(GRANULARITIES)).readonly(),
  logprobs: z.boolean(),
  stream: z.boolean(),
  /** Null to cut long sound only. */
  voiceDetection: z
    .object({
      paddingMs: z.number().exactOptional(),
      silenceMs: z.number().exactOptional(),
      threshold: z.number().exactOptional(),
    })
    .nullable(),
});
export type TranscriptionRequest = z.infer<typeof transcriptionRequest>;

/** Everything of an admitted request but its stored sound. */
type TranscriptionSettings = Omit<TranscriptionRequest, "audio">;

/** The parsed body: the file, and the settings with their defaults. Contradictions are refused. */
export function parseTranscriptionBody(body: unknown): {
  readonly file: UploadedFile;
  readonly settings: TranscriptionSettings;
} {
  const parsed = parseBody(transcriptionBody, body);
  const format = parsed.response_format ?? "json";
  refuseContradictions(parsed, format);
  return {
    file: parsed.file,
    settings: {
      model: parsed.model,
      language: readLanguage(parsed.language),
      prompt: parsed.prompt ?? "",
      format,
      temperature: parsed.temperature ?? 0,
      granularities: parsed.timestamp_granularities ?? ["segment"],
      logprobs: parsed.include !== undefined && parsed.include.length > 0,
      stream: parsed.stream ?? false,
      voiceDetection: readVoiceDetection(parsed.chunking_strategy),
    },
  };
}

function refuseContradictions(body: TranscriptionBody, format: TranscriptFormat): void {
  const refuse = (param: string, needs: string) => {
    const message = `${param} needs response_format ${needs}, got "${format}"`;
    throw invalidValue(param, message);
  };
  if (body.timestamp_granularities !== undefined && format !== "verbose_json")
    refuse("timestamp_granularities", "verbose_json");
  if (body.include?.length && format !== "json") refuse("include", "json");
  if (body.stream && format !== "json" && format !== "text") refuse("stream", "json or text");
  const { byteLength } = body.file.bytes;
  if (byteLength <= MAX_FILE_BYTES) return;
  const message = `file must be at most ${MAX_FILE_BYTES} bytes, got ${byteLength}`;
  throw new JobError("payload_too_large", message, { param: "file" });
}

function readLanguage(value: string | undefined): string | null {
  if (value === undefined || value === "") return null;
  const code = findLanguage(value);
  if (code !== undefined) return code;
  const message = `language must be an ISO 639-1 code or an English name, got ${describe(value)}`;
  throw invalidValue("language", message);
}

function readVoiceDetection(
  strategy: TranscriptionBody["chunking_strategy"],
): VoiceDetection | null {
  if (strategy === undefined || strategy === null) return null;
  if (strategy === "auto") return {};
  const { prefix_padding_ms: paddingMs, silence_duration_ms: silenceMs, threshold } = strategy;
  return {
    ...(paddingMs !== undefined && { paddingMs }),
    ...(silenceMs !== undefined && { silenceMs }),
    ...(threshold !== undefined && { threshold }),
  };
}
