import { alignTokens } from "./attention-alignment.js";
import { groupWords } from "./spoken-words.js";
import { startTokens, type WindowTask, type WindowText } from "./transcribe-window.js";
import { whisperText } from "./whisper-model.js";

/** A word with its times in seconds from the window's start. */
export interface TimedWord {
  readonly word: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const FRAMES_A_SECOND = 50;
const PAUSE_AFTER = /[.。!！?？,，、;；:：…]["'”’)\]]*$/u;
/** A word of usual length lasts no longer than this, seconds; twice that is suspicious. */
const MAX_USUAL_SECONDS = 0.7;

/** Times of the words of a window, by where the decoder looks while it reads the whole text again. */
export async function timeWords(
  { model, decoder, language }: Pick<WindowTask, "model" | "decoder" | "language">,
  { tokens }: Pick<WindowText, "tokens">,
  soundSeconds: number,
): Promise<TimedWord[]> {
  const { endOfText } = model.settings.tokens;
  const said = tokens.filter((id) => id < endOfText);
  if (said.length === 0) return [];
  const start = startTokens(model, { language, withTimestamps: false });
  const layers = await decoder.attend([...start, ...said, endOfText]);
  // The row that reads a token is where the next one is heard: it starts one row early.
  const first = start.length - 1;
  const frames = alignTokens({
    layers,
    heads: model.settings.alignmentHeads,
    first,
    end: first + said.length + 1,
    frames: Math.round(soundSeconds * FRAMES_A_SECOND),
  });
  const secondsAt = (token: number) => (frames[token] ?? 0) / FRAMES_A_SECOND;
  const words = groupWords(said, (ids) => whisperText(model, ids), language).map((word) => ({
    word: word.text.trim(),
    startSeconds: secondsAt(word.first),
    endSeconds: secondsAt(word.end),
  }));
  return shortenPauses(words.filter(({ word }) => word !== ""));
}

/** A pause is no part of the word beside it: it follows punctuation, else it came before the word. */
function shortenPauses(words: readonly TimedWord[]): TimedWord[] {
  const lengths = words.map((it) => it.endSeconds - it.startSeconds).filter((it) => it > 0);
  const sorted = lengths.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const longest = 2 * Math.min(MAX_USUAL_SECONDS, median);
  return words.map((word) => {
    if (word.endSeconds - word.startSeconds <= longest) return word;
    return PAUSE_AFTER.test(word.word)
      ? { ...word, endSeconds: word.startSeconds + longest }
      : { ...word, startSeconds: word.endSeconds - longest };
  });
}
