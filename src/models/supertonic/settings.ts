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

/** Steps of the flow, as Supertone's package takes them unless told otherwise. */
export const SUPERTONIC_STEPS = 8;

/** What a model reads, and how a text's language is told to it. */
export interface Languages {
  readonly codes: readonly string[];
  /** Of a text whose caller names none; null where texts are not marked. */
  readonly unnamed: string | null;
}

const SECOND = ["en", "ko", "es", "pt", "fr"];
const THIRD =
  "en ko ja ar bg cs da de el es et fi fr hi hr hu id it lt lv nl pl pt ro ru sk sl sv tr uk vi";

/** The first Supertonic speaks English and takes texts as they are, later ones are told the language. */
export function languagesOf({ tts_version: version = "", split }: SupertonicConfig): Languages {
  if (split === "opensource-en" || /^v?1\.[0-5](\.|$)/.test(version))
    return { codes: ["en"], unnamed: null };
  if (/^v?1\.6(\.|$)/.test(version)) return { codes: SECOND, unnamed: "en" };
  // Trained with texts of no stated language, which are marked so.
  return { codes: THIRD.split(" "), unnamed: "na" };
}
