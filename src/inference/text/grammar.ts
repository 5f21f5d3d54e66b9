import { JobError } from "../../core/errors.js";
import { type Automaton, createAutomaton, DEAD } from "./grammar-automaton.js";
import { grammarOfCalls } from "./grammar-calls.js";
import { buildNetwork } from "./grammar-network.js";
import type { Grammar } from "./grammar-rules.js";
import { grammarOfSchema, JSON_OBJECT } from "./grammar-schema.js";
import { createVocabulary, type Vocabulary } from "./grammar-vocabulary.js";
import type { MaskFactory, MaskSpec, TokenMask } from "./token-mask.js";

const MAX_GRAMMARS = 32;
/** Masks kept of one grammar: 19 KB each for 152 000 tokens. */
const MAX_MASKS = 512;
/** A grammar that has been walked this far is built anew, to give its memory back. */
const MAX_STATES = 100_000;

/** What one grammar allows; shared by all answers that are held to it. */
interface Constraint {
  readonly automaton: Automaton;
  allowed(state: number): Uint32Array;
}

/**
 * Makes masks for a vocabulary: `tokenizerJson` is its tokenizer.json, `vocabSize` the number of logits.
 * A grammar is compiled once, walked lazily, and kept while it is in use.
 */
export async function createMaskFactory(
  tokenizerJson: unknown,
  vocabSize: number,
  stopTokenIds: readonly number[],
): Promise<MaskFactory> {
  const vocabulary = createVocabulary(tokenizerJson, vocabSize);
  const constraints = new Map<string, Constraint>();
  return (spec) => {
    const key = JSON.stringify(spec);
    const known = constraints.get(key);
    const isUsable = known !== undefined && known.automaton.stateCount < MAX_STATES;
    const constraint = isUsable ? known : compile({ spec, vocabulary, stopTokenIds });
    keepNewest(constraints, { key, value: constraint, limit: MAX_GRAMMARS });
    return createMask({ constraint, vocabulary, stopTokenIds });
  };
}

function keepNewest<Key, Value>(
  map: Map<Key, Value>,
  { key, value, limit }: { readonly key: Key; readonly value: Value; readonly limit: number },
): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= limit) return;
    map.delete(oldest);
  }
}

interface Setup {
  readonly vocabulary: Vocabulary;
  readonly stopTokenIds: readonly number[];
}

function compile({
  spec,
  vocabulary,
  stopTokenIds,
}: Setup & { readonly spec: MaskSpec }): Constraint {
  const automaton = createAutomaton(networkOf(spec));
  const masks = new Map<number, Uint32Array>();
  const mark = (state: number): Uint32Array => {
    const alike = automaton.alike(state);
    if (alike !== state) return markAlike(state, allowed(alike));
    const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
    vocabulary.markAllowed(automaton, state, mask);
    const stops = automaton.accepts(state) ? stopTokenIds : [];
    for (const id of stops) mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    return mask;
  };
  /** The mask of a state that goes on alike, but for the tokens that look further than that. */
  const markAlike = (state: number, alike: Uint32Array): Uint32Array => {
    const mask = alike.slice();
    for (const id of vocabulary.longTokens) {
      const isAllowed = walk(automaton, state, vocabulary.bytesOf(id)) !== DEAD;
      const word = mask[id >>> 5] ?? 0;
      mask[id >>> 5] = isAllowed ? word | (1 << (id & 31)) : word & ~(1 << (id & 31));
    }
    return mask;
  };
  const allowed = (state: number): Uint32Array => {
    const mask = masks.get(state) ?? mark(state);
    keepNewest(masks, { key: state, value: mask, limit: MAX_MASKS });
    return mask;
  };
  return { automaton, allowed };
}

function networkOf(spec: MaskSpec) {
  const param = spec.kind === "tool-calls" ? "tools" : "response_format";
  try {
    return buildNetwork(grammarOf(spec, param));
  } catch (cause) {
    if (cause instanceof JobError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new JobError("invalid_value", `${param}: ${reason}`, { param, cause });
  }
}

function grammarOf(spec: MaskSpec, param: string): Grammar {
  if (spec.kind === "json-object") return JSON_OBJECT;
  return spec.kind === "json-schema"
    ? grammarOfSchema(spec.schema, param)
    : grammarOfCalls(spec.calls, param);
}

function createMask({
  constraint,
  vocabulary,
  stopTokenIds,
}: Setup & { readonly constraint: Constraint }): TokenMask {
  const { automaton } = constraint;
  let state = automaton.start;
  let hasStopped = false;
  return {
    get isComplete() {
      return hasStopped || automaton.isFinal(state);
    },
    allowed() {
      const mask = constraint.allowed(state);
      if (mask.some((word) => word !== 0)) return mask;
      throw new JobError("invalid_output", "no token of the model continues the answer's format");
    },
    accept(tokenId) {
      if (stopTokenIds.includes(tokenId) && automaton.accepts(state)) {
        hasStopped = true;
        return;
      }
      const next = walk(automaton, state, vocabulary.bytesOf(tokenId));
      if (next === DEAD) throw new Error(`the token ${tokenId} does not fit the answer's format`);
      state = next;
    },
  };
}

function walk(automaton: Automaton, from: number, bytes: Uint8Array): number {
  let state = bytes.length === 0 ? DEAD : from;
  for (const byte of bytes) {
    if (state === DEAD) return DEAD;
    state = automaton.step(state, byte);
  }
  return state;
}
