import { z } from "zod";
import type { ModelInfo } from "../../core/modality.js";
import {
  booleanWord,
  boundedText,
  checkSeconds,
  invalidValue,
  metadata,
  metadataField,
  oneOf,
  parseBody,
  promptText,
  secondsAsText,
  wholeNumber,
} from "../shared/request-body.js";

const MAX_TEXT_CHARACTERS = 4_096;
/** No model may offer more: a piece is held whole in memory until it is encoded. */
const MAX_SECONDS = 300;
const DEFAULT_MAX_SECONDS = 30;

export const MUSIC_FORMATS = ["mp3", "wav", "flac", "opus"] as const;
export type MusicFormat = (typeof MUSIC_FORMATS)[number];

/** Body of `POST /v1/music`, JSON or multipart. */
export const musicBody = z.strictObject({
  model: z.string().min(1),
  prompt: promptText("prompt", MAX_TEXT_CHARACTERS),
  lyrics: boundedText("lyrics", MAX_TEXT_CHARACTERS)
    .nullable()
    .optional()
    .describe("Words to sing; only for models that sing."),
  instrumental: booleanWord("instrumental")
    .optional()
    .describe("Without voices; false only for models that sing."),
  seconds: wholeNumber("seconds", 1, MAX_SECONDS),
  response_format: oneOf("response_format", MUSIC_FORMATS).default("mp3"),
  seed: wholeNumber("seed", 0, Number.MAX_SAFE_INTEGER).optional(),
  metadata: metadataField.nullable().optional(),
});

export type MusicBody = z.infer<typeof musicBody>;

/** An admitted request, as it is stored and travels on the queue. */
export const musicRequest = z.object({
  model: z.string(),
  prompt: z.string(),
  /** Words to sing; null for an instrumental piece. */
  lyrics: z.string().nullable(),
  instrumental: z.boolean(),
  /** Length of the piece. */
  seconds: z.number(),
  secondsAsText,
  format: z.enum(MUSIC_FORMATS),
  /** Same seed, same model, same inputs: same bytes. */
  seed: z.int(),
  metadata,
});
export type MusicRequest = z.infer<typeof musicRequest>;

/** What the pipeline says of a finished piece. */
export const musicOutput = z.object({ audioSeconds: z.number().nonnegative() });
export type MusicOutput = z.infer<typeof musicOutput>;

/** The parsed body with voices settled; what the model cannot do is refused, not left out. */
export function parseMusicBody(
  body: unknown,
  model: ModelInfo,
): MusicBody & { lyrics: string | null; instrumental: boolean } {
  const parsed = parseBody(musicBody, body);
  checkSeconds(parsed.seconds, model, [1, DEFAULT_MAX_SECONDS]);
  return { ...parsed, ...settleVoices(parsed, model) };
}

function settleVoices(
  body: MusicBody,
  { id, lyrics: canSing = false }: ModelInfo,
): { lyrics: string | null; instrumental: boolean } {
  const lyrics = body.lyrics?.trim() ? body.lyrics : null;
  if (lyrics !== null && body.instrumental)
    throw invalidValue("lyrics", "lyrics must be absent when instrumental is true");
  if (lyrics !== null && !canSing)
    throw invalidValue("lyrics", `lyrics cannot be sung by ${id}: it makes instrumental music`);
  if (body.instrumental === false && !canSing)
    throw invalidValue("instrumental", `instrumental must be true for ${id}: it does not sing`);
  return { lyrics, instrumental: body.instrumental ?? lyrics === null };
}
