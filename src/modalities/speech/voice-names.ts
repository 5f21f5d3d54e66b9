import { JobError } from "../../core/errors.js";

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
  throw new JobError("invalid_value", message, { param: "voice" });
}
