import { z } from "zod";
import {
  type ModelPackage,
  readModelJson,
  readModelText,
} from "../../runtime/packages/model-package.js";

/** Pieces of a SentencePiece vocabulary. */
export interface Pieces {
  /** By id, with a space where one begins a word; undefined for what is no text. */
  readonly texts: readonly (string | undefined)[];
  readonly blank: number;
}

const MARK = /^<(\|.*\||unk|pad|s|\/s|blk|blank)>$/;
const vocab = z.record(z.string(), z.int());
const added = z.object({ id: z.int(), content: z.string(), special: z.boolean().default(true) });
const tokenizerJson = z.object({
  added_tokens: z.array(added).default([]),
  model: z.object({
    vocab: z.union([vocab, z.array(z.tuple([z.string(), z.number()]))]),
  }),
});
const config = z.object({ pad_token_id: z.int(), vocab_size: z.int().optional() });

/**
 * The pieces of a package: tokenizer.json, whose blank is config.json's padding, or NeMo's list of lines
 * with piece and id, whose blank is `<blk>` or the last. Throws an error that names what is missing.
 */
export async function readPieces(model: ModelPackage): Promise<Pieces> {
  if (model.files["tokens"] !== undefined)
    return parseTokenList(await readModelText(model, "tokens"));
  const { added_tokens: extra, model: words } = await readModelJson(
    model,
    "tokenizer",
    tokenizerJson,
  );
  const { pad_token_id: blank } = await readModelJson(model, "config", config);
  const entries = Array.isArray(words.vocab)
    ? words.vocab.map(([piece], id): [string, number] => [piece, id])
    : Object.entries(words.vocab);
  const structure = new Set(extra.flatMap(({ id, special }) => (special ? [id] : [])));
  return { texts: textsOf(entries, structure), blank };
}

/** Lines of a piece and its id, of NeMo and sherpa-onnx. Throws where a line is none. */
function parseTokenList(list: string): Pieces {
  const lines = list.split(/\r?\n/).filter((line) => line !== "");
  const entries = lines.map((line): [string, number] => {
    const [, piece = "", id = ""] = /^(.*?)[ \t]+(\d+)$/.exec(line) ?? [];
    if (id === "")
      throw new Error(
        `a line of the token list must be a piece and its id, got ${JSON.stringify(line)}`,
      );
    return [piece, Number(id)];
  });
  const blank = entries.find(([piece]) => piece === "<blk>" || piece === "<blank>")?.[1];
  const last = Math.max(...entries.map(([, id]) => id));
  return { texts: textsOf(entries, new Set()), blank: blank ?? last };
}

function textsOf(
  entries: readonly (readonly [string, number])[],
  structure: ReadonlySet<number>,
): (string | undefined)[] {
  const texts: (string | undefined)[] = [];
  for (const [piece, id] of entries)
    texts[id] = structure.has(id) || MARK.test(piece) ? undefined : piece.replaceAll("▁", " ");
  return texts;
}
