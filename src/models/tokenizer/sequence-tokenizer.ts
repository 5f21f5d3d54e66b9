import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { loadModelTokenizer, type TextTokenizer } from "./text-tokenizer.js";
import { cacheWords } from "./word-cache.js";

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
  return createSequenceTokenizer(await loadModelTokenizer(model));
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

/** Token ids of one row of a batch, special tokens included. */
export interface TokenSequence {
  readonly ids: Int32Array;
  /** 0 for the first text and 1 for the second of a pair; null where all are 0. */
  readonly typeIds: Uint8Array | null;
  /** What a batch is measured by: tokens. */
  readonly length: number;
  /** Tokens of a prompt at the beginning, special ones before it included; 0 where absent. */
  readonly promptLength?: number;
}

/** What a model wants around its texts. */
interface TokenTemplate {
  /** Special tokens of a lone text. */
  readonly singleAdded: number;
  /** Those of them before the text. */
  readonly leading: number;
  /** Special tokens of a pair. */
  readonly pairAdded: number;
  single(content: Int32Array): TokenSequence;
  pair(first: Int32Array, second: Int32Array): TokenSequence;
  /** Whether ids already have the special tokens of a lone text. */
  isWrapped(ids: Int32Array): boolean;
}

interface Part {
  readonly ids: readonly number[];
  readonly typeIds: readonly number[];
}

const FIRST_PROBE = "one";
const SECOND_PROBE = "two";

/**
 * Learns where a tokenizer puts its special tokens from two short texts, so that contents can be cut,
 * kept and joined as ids without tokenising again. Throws where the texts do not survive whole.
 */
function learnTemplate(tokenizer: TextTokenizer): TokenTemplate {
  const plain = (text: string) => tokenizer.encode(text, { addSpecialTokens: false }).ids;
  const first = plain(FIRST_PROBE);
  const second = plain(SECOND_PROBE);
  const [before, after] = cut(tokenizer.encode(FIRST_PROBE), [first]);
  const pair = tokenizer.encode(FIRST_PROBE, { pair: SECOND_PROBE });
  const [head, middle, tail] = cut(pair, [first, second]);
  const types = pair.typeIds;
  const firstType = types[head.ids.length] ?? 0;
  const secondType = types[head.ids.length + first.length + middle.ids.length] ?? 1;
  return {
    singleAdded: before.ids.length + after.ids.length,
    leading: before.ids.length,
    pairAdded: head.ids.length + middle.ids.length + tail.ids.length,
    single: (content) => ({ ...joined([before.ids, content, after.ids]), typeIds: null }),
    pair(left, right) {
      const parts = [head.ids, left, middle.ids, right, tail.ids];
      const typeIds = Uint8Array.from([
        ...head.typeIds,
        ...Array<number>(left.length).fill(firstType),
        ...middle.typeIds,
        ...Array<number>(right.length).fill(secondType),
        ...tail.typeIds,
      ]);
      return { ...joined(parts), typeIds };
    },
    isWrapped(ids) {
      const special = [...before.ids, ...after.ids];
      const found = [
        ...ids.subarray(0, before.ids.length),
        ...ids.subarray(Math.max(before.ids.length, ids.length - after.ids.length)),
      ];
      return (
        special.length > 0 &&
        special.length === found.length &&
        special.every((id, at) => id === found[at])
      );
    },
  };
}

function joined(parts: readonly ArrayLike<number>[]): Pick<TokenSequence, "ids" | "length"> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const ids = new Int32Array(length);
  let at = 0;
  for (const part of parts) {
    ids.set(part, at);
    at += part.length;
  }
  return { ids, length };
}

/** The parts of an encoding around the contents: one more than there are contents. */
function cut(encoding: Part, contents: readonly (readonly number[])[]): [Part, Part, Part] {
  const parts: Part[] = [];
  let from = 0;
  for (const content of contents) {
    const at = indexOfRun(encoding.ids, content, from);
    if (at === -1)
      throw new Error("the tokenizer joins texts with what is around them: not supported");
    parts.push(slice(encoding, from, at));
    from = at + content.length;
  }
  const [first, second, third] = [...parts, slice(encoding, from, encoding.ids.length)];
  const none: Part = { ids: [], typeIds: [] };
  return [first ?? none, second ?? none, third ?? none];
}

function slice({ ids, typeIds }: Part, from: number, to: number): Part {
  return { ids: ids.slice(from, to), typeIds: typeIds.slice(from, to) };
}

function indexOfRun(ids: readonly number[], run: readonly number[], from: number): number {
  for (let at = from; at + run.length <= ids.length; at += 1) {
    if (run.every((id, index) => ids[at + index] === id)) return at;
  }
  return -1;
}
