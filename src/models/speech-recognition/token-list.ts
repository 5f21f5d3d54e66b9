/** Pieces of a SentencePiece vocabulary. */
export interface Pieces {
  /** By id, with a space where one begins a word; undefined for what is no text. */
  readonly texts: readonly (string | undefined)[];
}

/** Pieces of a list, with what is no text among them. */
export interface TokenList extends Pieces {
  /** By id, the word of `<word>` and `<|word|>`. */
  readonly marks: ReadonlyMap<number, string>;
}

const MARK = /^<(?:\|(.*)\||(unk|pad|s|\/s|blk|blank))>$/;

/** Lines of a piece and its id, of NeMo and sherpa-onnx. Throws where a line is none. */
export function parseTokenList(list: string): TokenList {
  const lines = list.split(/\r?\n/).filter((line) => line !== "");
  const entries = lines.map((line): [string, number] => {
    const [, piece = "", id = ""] = /^(.*?)[ \t]+(\d+)$/.exec(line) ?? [];
    if (id === "")
      throw new Error(
        `a line of the token list must be a piece and its id, got ${JSON.stringify(line)}`,
      );
    return [piece, Number(id)];
  });
  const marks = entries.flatMap(([piece, id]): [number, string][] => {
    const [, tag, word] = MARK.exec(piece) ?? [];
    const mark = tag ?? word;
    return mark === undefined ? [] : [[id, mark]];
  });
  return { texts: pieceTexts(entries, new Set()), marks: new Map(marks) };
}

/** Texts of pieces by id; those of `structure`, and marks, have none. */
export function pieceTexts(
  entries: readonly (readonly [string, number])[],
  structure: ReadonlySet<number>,
): (string | undefined)[] {
  const texts: (string | undefined)[] = [];
  for (const [piece, id] of entries)
    texts[id] = structure.has(id) || MARK.test(piece) ? undefined : piece.replaceAll("▁", " ");
  return texts;
}
