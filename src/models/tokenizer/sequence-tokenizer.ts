import { graphPaths, type ModelPackage } from "../../runtime/packages/model-package.js";
import { loadTextTokenizer, type TextTokenizer } from "./text-tokenizer.js";
import { cacheWords } from "./word-cache.js";
import { learnTemplate, type TokenTemplate } from "./token-template.js";

/** Texts to rows of a batch. */
export interface SequenceTokenizer {
  readonly template: TokenTemplate;
  readonly tokenizer: TextTokenizer;
  readonly padId: number;
  /** Ids of a text without special tokens. */
  readonly contentOf: (text: string) => Int32Array;
}

/** Opens the tokenizer of a package: roles `tokenizer` and, where there is one, `tokenizer-config`. */
export async function openSequenceTokenizer(model: ModelPackage): Promise<SequenceTokenizer> {
  const roles = ["tokenizer", ...("tokenizer-config" in model.files ? ["tokenizer-config"] : [])];
  const { tokenizer: path = "", "tokenizer-config": config } = graphPaths(model, roles);
  return createSequenceTokenizer(await loadTextTokenizer({ tokenizer: path, config }));
}

export function createSequenceTokenizer(tokenizer: TextTokenizer): SequenceTokenizer {
  return {
    tokenizer,
    template: learnTemplate(tokenizer),
    padId: tokenizer.special.pad ?? 0,
    contentOf: cacheWords(
      tokenizer.json,
      (text) => tokenizer.encode(text, { addSpecialTokens: false }).ids,
    ),
  };
}

/** Lengths of two texts cut to fit together: the longer one gives way ("longest first" of Hugging Face's tokenizers). */
export function fitPair(first: number, second: number, room: number): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const [short, long] = first > second ? [second, first] : [first, second];
  const half = Math.floor(room / 2);
  const [less, more] = short <= half ? [short, Math.min(long, room - short)] : [half, room - half];
  return first > second ? [more, less] : [less, more];
}
