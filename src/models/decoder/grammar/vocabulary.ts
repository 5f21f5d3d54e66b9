import { z } from "zod";
import { createTokenBytes } from "../../tokenizer/token-bytes.js";
import { type Automaton, DEAD, UNKNOWN } from "./automaton.js";
import { HORIZON } from "./network.js";
import { SPECIAL_BYTE } from "./rules.js";

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
  // A byte that UTF-8 does not have stands for special tokens: no other token may begin to write it.
  const isText = (id: number) => special.has(id) || !bytesOf(id).includes(SPECIAL_BYTE);
  const ids = [...names.keys()].filter((id) => id < size && names[id] !== undefined && isText(id));
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

/** Tokens' bytes as a prefix tree, its nodes in the order of a walk from the root. */
interface TokenTree {
  readonly bytes: Uint8Array;
  /** Bytes from the root to the node, 1 or more. */
  readonly depths: Uint16Array;
  /** First node that is not below this one. */
  readonly ends: Int32Array;
  /** A token that ends at the node, and for each token another of the same bytes; −1 for none. */
  readonly tokens: Int32Array;
  readonly twins: Int32Array;
  /** Of the deepest node. */
  readonly depth: number;
}

function buildTree(ids: readonly number[], bytesOf: (id: number) => Uint8Array): TokenTree {
  const entries = ids.map((id) => ({ id, key: toKey(bytesOf(id)) }));
  const sorted = entries.filter(({ key }) => key !== "").toSorted(byKey);
  const limit = sorted.reduce((sum, { key }) => sum + key.length, 0);
  const tree = {
    bytes: new Uint8Array(limit),
    depths: new Uint16Array(limit),
    ends: new Int32Array(limit),
    tokens: new Int32Array(limit).fill(-1),
    twins: new Int32Array((ids.at(-1) ?? 0) + 1).fill(-1),
  };
  const path: number[] = [];
  let count = 0;
  let last = "";
  for (const { id, key } of sorted) {
    const shared = sharedLength(last, key);
    while (path.length > shared) tree.ends[path.pop() ?? 0] = count;
    for (let place = shared; place < key.length; place += 1) {
      tree.bytes[count] = key.charCodeAt(place);
      tree.depths[count] = path.push(count);
      count += 1;
    }
    const node = count - 1;
    tree.twins[id] = key === last ? (tree.tokens[node] ?? -1) : -1;
    tree.tokens[node] = id;
    last = key;
  }
  for (const node of path) tree.ends[node] = count;
  return {
    bytes: tree.bytes.slice(0, count),
    depths: tree.depths.slice(0, count),
    ends: tree.ends.slice(0, count),
    tokens: tree.tokens.slice(0, count),
    twins: tree.twins,
    depth: sorted.reduce((most, { key }) => Math.max(most, key.length), 0),
  };
}

/** Bytes as a text of one byte a character: sorts as they do, and many times faster. */
function toKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

function byKey(left: { readonly key: string }, right: { readonly key: string }): number {
  if (left.key === right.key) return 0;
  return left.key < right.key ? -1 : 1;
}

function sharedLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left.charCodeAt(length) === right.charCodeAt(length)) length += 1;
  return length;
}

/** Sets the bits of the tokens that a text in a state of the automaton may go on with. */
type Walk = (automaton: Automaton, state: number, mask: Uint32Array) => void;

function createWalk(tree: TokenTree): Walk {
  const { bytes, depths, ends } = tree;
  const states = new Int32Array(tree.depth + 1);
  return (automaton, state, mask) => {
    states[0] = state;
    for (let node = 0; node < bytes.length;) {
      const depth = depths[node] ?? 1;
      const next = step(automaton, states[depth - 1] ?? DEAD, bytes[node] ?? 0);
      if (next === DEAD) {
        node = ends[node] ?? bytes.length;
        continue;
      }
      states[depth] = next;
      markTokens(tree, node, mask);
      node += 1;
    }
  };
}

/** Reads the automaton's table here: this is done for every node of the tree. */
function step(automaton: Automaton, state: number, byte: number): number {
  const column = automaton.classOf[byte] ?? 0;
  const next = automaton.table[state * automaton.classCount + column] ?? UNKNOWN;
  return next === UNKNOWN ? automaton.step(state, byte) : next;
}

function markTokens({ tokens, twins }: TokenTree, node: number, mask: Uint32Array): void {
  for (let token = tokens[node] ?? -1; token >= 0; token = twins[token] ?? -1)
    mask[token >>> 5] = (mask[token >>> 5] ?? 0) | (1 << (token & 31));
}
