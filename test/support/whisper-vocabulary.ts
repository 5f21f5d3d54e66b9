import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";

/** What each pitch of `melody` says; the highest ends a sentence. */
export const WORDS = [" do", " re", " mi", " fa", " so", " la", " ti", "."];
const STEERING = [
  ["endoftext", "startoftranscript", "en", "de", "fr", "translate", "transcribe"],
  ["startoflm", "startofprev", "nospeech", "notimestamps"],
].flat();
export const TIME_COUNT = 1_501;
const FIRST_WORD = 256;
const FIRST_STEERING = FIRST_WORD + WORDS.length;
export const FIRST_TIME = FIRST_STEERING + STEERING.length;
export const VOCABULARY = FIRST_TIME + TIME_COUNT;

export const wordId = (note: number) => FIRST_WORD + note;
export const steeringId = (name: string) => FIRST_STEERING + STEERING.indexOf(name);
export const timeId = (seconds: number) => FIRST_TIME + Math.round(50 * seconds);

export const isWord = (id: number) => Number(id >= FIRST_WORD && id < FIRST_STEERING);
export const isTime = (id: number) => Number(id >= FIRST_TIME);
export const isToken = (name: string) => (id: number) => Number(id === steeringId(name));

/** Id of the language that a pitch is of: the lowest three, the next three, none. */
export function languageOf(pitch: number): number | undefined {
  if (pitch > 5) return undefined;
  return steeringId(pitch < 3 ? "en" : "de");
}

/** Byte-level as Whisper's: every byte, the eight words, what steers, and the times. */
export function whisperTokenizerJson(): object {
  const characters = byteCharacters();
  const spelled = WORDS.map((word) => [...Buffer.from(word)].map((byte) => characters[byte]));
  const vocab = [...characters, ...spelled.map((word) => word.join(""))];
  const times = Array.from({ length: TIME_COUNT }, (_, step) => (step / 50).toFixed(2));
  const added = [...STEERING, ...times].map((name, index) => ({
    id: FIRST_STEERING + index,
    content: `<|${name}|>`,
    special: index < STEERING.length,
    normalized: false,
  }));
  return {
    version: "1.0",
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
      merges: [],
    },
  };
}
