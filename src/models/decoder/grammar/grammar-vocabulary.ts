import { z } from "zod";
import type { Automaton } from "./grammar-automaton.js";
import { HORIZON } from "./grammar-network.js";
import { SPECIAL_BYTE } from "./grammar-rules.js";
import { buildTree, createWalk } from "./grammar-token-tree.js";
import { createTokenBytes } from "../../tokenizer/token-bytes.js";

/** The bytes of every token as a prefix tree, its nodes in the order of a walk from the root. */
export interface Vocabulary {
  readonly size: number;
  bytesOf(id: number): Uint8Array;
  /** Tokens of more than `HORIZON` bytes. */
  readonly longTokens: readonly number[];
  /** Sets the bits of the tokens that a text in this state may go on with. */
  markAllowed(automaton: Automaton, state: number, mask: Uint32Array): void;
}

/** Ids by token, or, of unigram models, tokens with their scores. */
type VocabularyJson = Readonly<Record<string, number>> | readonly (readonly [string, number])[];

const tokenizerJson = z.object({
  added_tokens: z
    .array(z.object({ id: z.int(), content: z.string(), special: z.boolean().default(false) }))
    .default([]),
  model: z.object({
    // Checked by use: a schema of every entry would take longer than all the rest.
    vocab: z.custom<VocabularyJson>((value) => typeof value === "object" && value !== null),
  }),
});
type TokenizerJson = z.infer<typeof tokenizerJson>;

/** `size` is the number of logits. Throws where a tokenizer's texts depend on neighbours. */
export function createVocabulary(json: unknown, size: number): Vocabulary {
  const parsed = tokenizerJson.parse(json);
  const names = tokenNames(parsed);
  const bytes = createTokenBytes(json, (id) => names[id]);
  if (bytes === undefined)
    throw new Error(
      "answers cannot be held to a format: the tokenizer's decoder is not byte by byte",
    );
  const special = new Set(parsed.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const bytesOf = (id: number): Uint8Array => {
    const own = bytes.bytesOf(id);
    return special.has(id) ? Uint8Array.of(SPECIAL_BYTE, ...own) : own;
  };
  const ids = [...names.keys()].filter((id) => id < size && names[id] !== undefined);
  const longTokens = ids.filter((id) => bytesOf(id).length > HORIZON);
  return { size, bytesOf, longTokens, markAllowed: createWalk(buildTree(ids, bytesOf)) };
}

function tokenNames({
  model: { vocab },
  added_tokens: added,
}: TokenizerJson): (string | undefined)[] {
  const names: (string | undefined)[] = [];
  if (isList(vocab)) for (const [id, [name]] of vocab.entries()) names[id] = name;
  else for (const [name, id] of Object.entries(vocab)) names[id] = name;
  for (const { id, content } of added) names[id] = content;
  return names;
}

function isList(vocab: VocabularyJson): vocab is readonly (readonly [string, number])[] {
  return Array.isArray(vocab);
}
