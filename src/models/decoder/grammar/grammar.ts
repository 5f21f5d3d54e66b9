import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { JobError, messageOf } from "../../../core/errors.js";
import { AmbiguousGrammar, type Automaton, createAutomaton, DEAD } from "./automaton.js";
import { grammarOfCalls } from "./calls.js";
import { buildNetwork } from "./network.js";
import type { Grammar } from "./rules.js";
import { grammarOfSchema, JSON_OBJECT } from "./schema.js";
import { finalMessage, grammarAfterAnalysis, grammarAfterThinking } from "./thinking.js";
import { createVocabulary, type Vocabulary } from "./vocabulary.js";
import type { AnswerMask, MaskFactory, MaskSpec, TokenMask } from "../request/request.js";

/** Of the grammars that are kept. */
const MAX_KEPT_BYTES = 2 ** 27;
/** Grammars that are known not to be followable. */
const MAX_NOT_HELD = 1_024;
/** Masks kept of one grammar: 19 KB each for 152 000 tokens. */
const MAX_MASKS = 512;
/** A grammar that has grown this large is built anew for the next answer, to give its memory back. */
const MAX_GRAMMAR_BYTES = 2 ** 25;
/** One that grows this large while an answer follows it ends that answer. */
const MOST_GRAMMAR_BYTES = 2 ** 27;
/** Places walked over for one mask, some 100 ms of work, and for one answer. */
const MOST_WALKED_FOR_MASK = 1_000_000;
const MOST_WALKED_FOR_ANSWER = 5_000_000;

/** What one grammar allows; shared by all answers that are held to it. */
interface Constraint {
  readonly automaton: Automaton;
  allowed(state: number): Uint32Array;
  /** What it holds by now, its masks included. */
  byteLength(): number;
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
  const constraints = new LRUCache<string, Constraint>({ maxSize: MAX_KEPT_BYTES });
  const notHeld = new LRUCache<string, true>({ max: MAX_NOT_HELD });
  const follow = (spec: MaskSpec): TokenMask => {
    const key = JSON.stringify(spec);
    const known = constraints.get(key);
    const isUsable = known !== undefined && known.automaton.byteLength < MAX_GRAMMAR_BYTES;
    const constraint = isUsable ? known : compile({ spec, vocabulary, stopTokenIds });
    // Set again: it has grown since, and counts by what it holds now.
    constraints.set(key, constraint, { size: constraint.byteLength() });
    return createMask({ spec, constraint, vocabulary, stopTokenIds });
  };
  return (spec) => {
    const open = withOpenArguments(spec);
    return open === undefined ? follow(spec) : followOrOpen({ spec, open, follow, notHeld });
  };
}

/** The spec with any objects as arguments of functions that are not strict; undefined where there is none. */
function withOpenArguments(spec: MaskSpec): MaskSpec | undefined {
  const answer = spec.kind === "after-thinking" ? spec.answer : spec;
  if (answer.kind !== "tool-calls") return undefined;
  const { calls } = answer;
  if (calls.functions.every(({ isStrict }) => isStrict)) return undefined;
  const functions = calls.functions.map((callable) =>
    callable.isStrict ? callable : { ...callable, parameters: {}, isStrict: true },
  );
  const open = { ...answer, calls: { ...calls, functions } };
  return spec.kind === "after-thinking" ? { ...spec, answer: open } : open;
}

interface Followed {
  readonly spec: MaskSpec;
  readonly open: MaskSpec;
  readonly follow: MaskFactory;
  /** Hashes of specs that could not be followed to the end of an answer. */
  readonly notHeld: LRUCache<string, true>;
}

/** Follows `spec` for as long as it can be, then `open`, which admits all of it. */
function followOrOpen({ spec, open, follow, notHeld }: Followed): TokenMask {
  const key = createHash("sha256").update(JSON.stringify(spec)).digest("base64");
  const written: number[] = [];
  let isOpen = notHeld.has(key);
  let mask: TokenMask | undefined;
  const attempt = <Result>(work: (mask: TokenMask) => Result): Result => {
    try {
      return work((mask ??= follow(isOpen ? open : spec)));
    } catch (thrown) {
      if (isOpen || !(thrown instanceof JobError)) throw thrown;
      notHeld.set(key, true);
      isOpen = true;
      mask = follow(open);
      for (const id of written) mask.accept(id);
      return work(mask);
    }
  };
  // What is refused, strict functions perhaps, is refused before a token is written.
  attempt(() => undefined);
  return {
    get isComplete() {
      return attempt(({ isComplete }) => isComplete);
    },
    allowed: () => attempt((followed) => followed.allowed()),
    accept(id) {
      attempt((followed) => followed.accept(id));
      written.push(id);
    },
  };
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
  const masks = new LRUCache<number, Uint32Array>({ max: MAX_MASKS });
  const mark = (state: number): Uint32Array => {
    const alike = automaton.alike(state);
    if (alike !== state) return markAlike(state, allowed(alike));
    const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
    vocabulary.markAllowed(automaton, state, mask);
    for (const id of stopTokenIds) allow(mask, id, automaton.accepts(state));
    return mask;
  };
  /** The mask of a state that goes on alike, but for the tokens that look further than that. */
  const markAlike = (state: number, alike: Uint32Array): Uint32Array => {
    const mask = alike.slice();
    for (const id of vocabulary.longTokens)
      allow(mask, id, walk(automaton, state, vocabulary.bytesOf(id)) !== DEAD);
    return mask;
  };
  const allowed = (state: number): Uint32Array => {
    const mask = masks.get(state) ?? mark(state);
    masks.set(state, mask);
    return mask;
  };
  const byteLength = () => automaton.byteLength + masks.size * Math.ceil(vocabulary.size / 8);
  return { automaton, allowed, byteLength };
}

function allow(mask: Uint32Array, id: number, isAllowed: boolean): void {
  const word = mask[id >>> 5] ?? 0;
  mask[id >>> 5] = isAllowed ? word | (1 << (id & 31)) : word & ~(1 << (id & 31));
}

function networkOf(spec: MaskSpec) {
  try {
    return buildNetwork(grammarOf(spec, paramOf(spec)));
  } catch (cause) {
    throw asRefusal(spec, cause);
  }
}

function paramOf(spec: MaskSpec): string {
  if (spec.kind === "after-thinking") return paramOf(spec.answer);
  return spec.kind === "tool-calls" ? "tools" : "response_format";
}

/** What cannot be followed is the caller's schema. */
function asRefusal(spec: MaskSpec, cause: unknown): JobError {
  if (cause instanceof JobError) return cause;
  const param = paramOf(spec);
  const reason = messageOf(cause);
  return new JobError("invalid_value", `${param}: ${reason}`, { param, cause });
}

function grammarOf(spec: MaskSpec, param: string): Grammar {
  if (spec.kind === "after-thinking") {
    const { thinking, answer } = spec;
    if (thinking.form === "markers")
      return grammarAfterThinking(thinking, grammarOf(answer, param));
    return grammarAfterAnalysis(grammarOfAnswer(answer, param, finalMessage));
  }
  return grammarOfAnswer(spec, param, (answer) => answer);
}

/** `place` puts what is said to the caller where the model says it. */
function grammarOfAnswer(
  spec: AnswerMask,
  param: string,
  place: <Answer extends Grammar | "text">(answer: Answer) => Answer | Grammar,
): Grammar {
  if (spec.kind === "json-object") return place(JSON_OBJECT);
  if (spec.kind === "json-schema") return place(grammarOfSchema(spec.schema, { param }));
  const { calls, otherwise } = spec;
  if (otherwise === undefined) return grammarOfCalls(calls, null, param);
  const answer = otherwise === "text" ? otherwise : grammarOf(otherwise, paramOf(otherwise));
  return grammarOfCalls(calls, place(answer), param);
}

function createMask({
  spec,
  constraint,
  vocabulary,
  stopTokenIds,
}: Setup & { readonly spec: MaskSpec; readonly constraint: Constraint }): TokenMask {
  const { automaton } = constraint;
  let state = automaton.start;
  let hasStopped = false;
  let left = MOST_WALKED_FOR_ANSWER;
  const follow = (work: () => void): void => {
    if (automaton.byteLength > MOST_GRAMMAR_BYTES)
      throw asRefusal(spec, "the schema's texts take too much memory to tell apart");
    try {
      left -= automaton.within(Math.min(left, MOST_WALKED_FOR_MASK), work);
    } catch (thrown) {
      throw thrown instanceof AmbiguousGrammar ? asRefusal(spec, thrown) : thrown;
    }
  };
  return {
    get isComplete() {
      return hasStopped || automaton.isFinal(state);
    },
    allowed() {
      let mask: Uint32Array | undefined;
      follow(() => (mask = constraint.allowed(state)));
      if (mask?.some((word) => word !== 0)) return mask;
      throw new JobError("invalid_output", "no token of the model continues the answer's format");
    },
    accept(tokenId) {
      if (stopTokenIds.includes(tokenId) && automaton.accepts(state)) {
        hasStopped = true;
        return;
      }
      let next = DEAD;
      follow(() => (next = walk(automaton, state, vocabulary.bytesOf(tokenId))));
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
