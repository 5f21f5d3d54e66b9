import { z } from "zod";

/** tts.json of Supertone's Supertonic. */
export const supertonicConfig = z.object({
  tts_version: z.string().optional(),
  split: z.string().optional(),
  ae: z.object({
    sample_rate: z.int().min(8_000),
    /** Samples of one frame of the autoencoder. */
    base_chunk_size: z.int().positive(),
  }),
  ttl: z.object({
    /** Frames of the autoencoder in one of the latent. */
    chunk_compress_factor: z.int().positive(),
    latent_dim: z.int().positive(),
  }),
});

export type SupertonicConfig = z.infer<typeof supertonicConfig>;

/** config.json of onnx-community's export. */
export const hubConfig = z.object({
  model_type: z.literal("supertonic"),
  sampling_rate: z.int().min(8_000),
  base_chunk_size: z.int().positive(),
  chunk_compress_factor: z.int().positive(),
  latent_dim: z.int().positive(),
  /** Numbers of one row of a voice's style. */
  style_dim: z.int().positive(),
});

/** Steps of the flow, as many as Supertone's package takes by default. */
export const SUPERTONIC_STEPS = 8;

/** What a model reads, and how a text names its language. */
export interface Languages {
  readonly codes: readonly string[];
  /** Of a text whose caller names none; null where texts are not marked. */
  readonly unnamed: string | null;
}

const SECOND = ["en", "ko", "es", "pt", "fr"];
const THIRD =
  "en ko ja ar bg cs da de el es et fi fr hi hr hu id it lt lv nl pl pt ro ru sk sl sv tr uk vi";

const [FIRST_MODEL, SECOND_MODEL, THIRD_MODEL]: readonly [Languages, Languages, Languages] = [
  { codes: ["en"], unnamed: null },
  { codes: SECOND, unnamed: "en" },
  // Trained with texts of no stated language, which are marked so.
  { codes: THIRD.split(" "), unnamed: "na" },
];

/** The first Supertonic speaks English and takes texts as they are, later ones want the language named. */
export function languagesOf({ tts_version: version = "", split }: SupertonicConfig): Languages {
  if (split === "opensource-en" || /^v?1\.[0-5](\.|$)/.test(version)) return FIRST_MODEL;
  return /^v?1\.6(\.|$)/.test(version) ? SECOND_MODEL : THIRD_MODEL;
}

/** The same by the characters that a model knows: the second reads Korean, the third Cyrillic too. */
export function languagesBy(knows: (character: string) => boolean): Languages {
  if (!knows("\u1100") && !knows("가")) return FIRST_MODEL;
  return knows("д") ? THIRD_MODEL : SECOND_MODEL;
}
