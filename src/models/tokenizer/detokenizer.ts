import { StringDecoder } from "node:string_decoder";
import type { TextTokenizer } from "./text-tokenizer.js";
import type { TokenBytes } from "./token-bytes.js";

/** Turns ids into text one by one; parts of a character wait for the rest of it. */
export interface Detokenizer {
  push(id: number): string;
  /** What still waits, at the end of the text; broken characters become U+FFFD. */
  flush(): string;
}

export interface DetokenizerOptions {
  /** Special tokens to write out: all, or these. */
  readonly keepSpecialTokens?: boolean | readonly string[] | undefined;
  /** Ids that stand before the text: a word in mid-sentence keeps the space before it. */
  readonly before?: readonly number[];
}

export function createDetokenizer(
  tokenizer: TextTokenizer,
  options: DetokenizerOptions = {},
): Detokenizer {
  const { keepSpecialTokens: kept = [], before = [] } = options;
  const keptIds = new Set(
    typeof kept === "boolean" ? [] : kept.map((token) => tokenizer.idOf(token)),
  );
  const isSkipped = (id: number) =>
    kept !== true && tokenizer.specialIds.has(id) && !keptIds.has(id);
  const { bytes } = tokenizer;
  if (bytes) return byteDetokenizer({ bytes, isSkipped, atStart: isTextStart(tokenizer, before) });
  return windowDetokenizer(tokenizer, { isSkipped, before });
}

/** SentencePiece's first space is no text after `<s>` and the like. */
function isTextStart({ specialIds }: TextTokenizer, before: readonly number[]): boolean {
  const last = before.at(-1);
  return last === undefined || specialIds.has(last);
}

function byteDetokenizer(setup: {
  readonly bytes: TokenBytes;
  readonly isSkipped: (id: number) => boolean;
  readonly atStart: boolean;
}): Detokenizer {
  const { bytes, isSkipped } = setup;
  const decoder = new StringDecoder("utf8");
  let dropsSpace = setup.atStart && bytes.dropsFirstSpace;
  return {
    push(id) {
      if (isSkipped(id)) return "";
      const text = decoder.write(Buffer.from(bytes.bytesOf(id)));
      if (!dropsSpace || text === "") return text;
      dropsSpace = false;
      return text.startsWith(" ") ? text.slice(1) : text;
    },
    flush: () => decoder.end(),
  };
}

/** Tokens that a decoder may look back at. */
const WINDOW = 6;
/** A character has at most four bytes: more tokens than this without one are broken. */
const LONGEST_WAIT = 4;

/**
 * For decoders that look at neighbours: what a window of tokens gains by the new ones is the new text.
 */
function windowDetokenizer(
  tokenizer: TextTokenizer,
  setup: { readonly isSkipped: (id: number) => boolean; readonly before: readonly number[] },
): Detokenizer {
  const decode = (ids: readonly number[]) => tokenizer.decode(ids, { keepSpecialTokens: true });
  let known = setup.before.slice(-WINDOW).filter((id) => !tokenizer.specialIds.has(id));
  let waiting: number[] = [];
  const take = (): string => {
    const text = decode([...known, ...waiting]).slice(decode(known).length);
    known = [...known, ...waiting].slice(-WINDOW);
    waiting = [];
    return text;
  };
  return {
    push(id) {
      if (setup.isSkipped(id)) return "";
      waiting.push(id);
      const isBroken = decode([...known, ...waiting]).endsWith("\u{FFFD}");
      return isBroken && waiting.length < LONGEST_WAIT ? "" : take();
    },
    flush: () => (waiting.length === 0 ? "" : take()),
  };
}
