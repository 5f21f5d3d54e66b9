import { z } from "zod";
import {
  type ModelPackage,
  readModelJson,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { parseTokenList, pieceTexts, type Pieces } from "../speech-recognition/token-list.js";

/** The pieces of a vocabulary, and the one that stands for nothing. */
interface Vocabulary extends Pieces {
  readonly blank: number;
}

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
export async function readPieces(model: ModelPackage): Promise<Vocabulary> {
  if (model.files["tokens"] !== undefined) {
    const { texts, marks } = parseTokenList(await readModelText(model, "tokens"));
    const [blank] = [...marks].find(([, mark]) => mark === "blk" || mark === "blank") ?? [];
    return { texts, blank: blank ?? texts.length - 1 };
  }
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
  return { texts: pieceTexts(entries, structure), blank };
}
