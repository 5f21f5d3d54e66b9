import { z } from "zod";
import type { StyleTables } from "../speech/style-tables.js";

/** config.json of a KittenTTS repository. */
export const kittenConfig = z.object({
  type: z.enum(["ONNX1", "ONNX2"], {
    error: (issue) => `must be ONNX1 or ONNX2, got ${String(issue.input)}`,
  }),
  model_file: z.string(),
  voices: z.string(),
  /** What a voice's speed is multiplied by. */
  speed_priors: z.record(z.string(), z.number().positive()).default({}),
  /** Names of voices → those of the archive. */
  voice_aliases: z.record(z.string(), z.string()).default({}),
});

export type KittenConfig = z.infer<typeof kittenConfig>;

/** What callers may ask for: the names that config.json gives, then those of the archive. */
export function kittenVoices(
  { voice_aliases: aliases }: KittenConfig,
  tables: StyleTables,
): string[] {
  const named = Object.keys(aliases).filter((name) => tables.has(aliases[name] ?? ""));
  return [...new Set([...named, ...tables.keys()])];
}
