import { JobError } from "../../core/errors.js";
import { argmax, BINS, BINS_PER_NAT, LargestLogits, weighIntoBins } from "../sampling/logits.js";
import type { RandomStream } from "../sampling/noise.js";
import type { TokenSampler } from "../sampling/token-sampler.js";
import { createDetokenizer, type Detokenizer } from "../tokenizer/detokenizer.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { heldLength } from "./held-length.js";
import { createThinkingReader, type ThinkingReader, type ThoughtPiece } from "./thinking/index.js";
import type {
  ChosenLogprob,
  FinishReason,
  MaskSpec,
  TextEvent,
  TextJob,
  TokenLogprob,
  TokenMask,
} from "./request/request.js";

interface ChoiceSetup {
  readonly index: number;
  readonly job: TextJob;
  readonly promptTokens: readonly number[];
  readonly tokenizer: TextTokenizer;
  readonly sampler: TokenSampler;
  readonly random: RandomStream;
  readonly edits: LogitEdits;
  /** Tokens of the prompt, for the repetition penalty; empty where it changes nothing. */
  readonly promptSet: ReadonlySet<number>;
  readonly stopTokenIds: ReadonlySet<number>;
  readonly mask: TokenMask | null;
  /** Most tokens to write. */
  readonly limit: number;
}

/** Most tokens that are reported beside a chosen one. */
const MOST_LIKELY_TOKENS = 20;

/** Reported for what is less likely, so that JSON can carry it. */
const LEAST_LOGPROB = -9_999;

const likelyTokens = createLikelyTokens();

interface Ending extends ThoughtPiece {
  readonly finishReason?: FinishReason;
  readonly stopText?: string;
}

/** What a batch continues: it takes logits behind its prompt, token by token, until it has ended. */
export interface Continuation {
  readonly lastToken: number;
  readonly written: readonly number[];
  readonly tokenCount: number;
  /** Tokens of `tokenCount` before the answer itself. */
  readonly reasoningTokenCount: number;
  isEnded: boolean;
  advance(logits: Float32Array): TextEvent | undefined;
}

/** One answer in the making: chooses its next token from logits and turns tokens into certain text. */
export class Choice implements Continuation {
  readonly index: number;
  /** The token to feed next. */
  lastToken = 0;
  /** All that it chose, the token that ended it included. */
  readonly written: number[] = [];
  isEnded = false;
  readonly #setup: ChoiceSetup;
  readonly #detokenizer: Detokenizer;
  readonly #thinking: ThinkingReader;
  /** Of the answer: thoughts are not looked through. */
  readonly #stops: StopMatcher;
  readonly #counts = new Map<number, number>();
  #reasoningTokenCount = 0;
  /** Tokens that may turn out to be of thoughts or of the answer. */
  #undecidedCount = 0;
  #tokenIds: number[] = [];
  #logprobs: ChosenLogprob[] = [];

  constructor(setup: ChoiceSetup) {
    const { job, promptTokens, tokenizer } = setup;
    this.index = setup.index;
    this.#setup = setup;
    this.#thinking = createThinkingReader(job.thinking);
    this.#stops = new StopMatcher(job.stop);
    this.#detokenizer = createDetokenizer(tokenizer, {
      keepSpecialTokens: job.keepSpecialTokens,
      before: promptTokens,
    });
  }

  /**
   * Takes the next token from logits [vocabSize], which it overwrites. Returns what became certain;
   * undefined while everything waits. Throws `invalid_output` where the logits are not numbers.
   */
  advance(logits: Float32Array): TextEvent | undefined {
    const token = this.#choose(logits);
    this.lastToken = token;
    this.written.push(token);
    const ending = this.#take(token);
    this.isEnded = ending.finishReason !== undefined;
    if (ending.text === "" && ending.reasoning === "" && !this.isEnded) return undefined;
    return this.#event(ending);
  }

  get tokenCount(): number {
    return this.written.length;
  }

  /** Tokens of thoughts, their markers included. */
  get reasoningTokenCount(): number {
    return this.#reasoningTokenCount;
  }

  #choose(logits: Float32Array): number {
    const { job, sampler, random, edits, promptSet, mask } = this.#setup;
    const raw = job.logprobs === null ? undefined : logits.slice();
    editLogits(logits, edits, { counts: this.#counts, prompt: promptSet });
    const allowed = mask?.allowed() ?? null;
    if (allowed) maskLogits(logits, allowed);
    if (isText(job.mask) && this.tokenCount < (job.minTokens ?? 0)) this.#barEnd(logits);
    const token = sampler.choose(logits, job, random.at(this.tokenCount));
    mask?.accept(token);
    if (raw) this.#tellLogprob(token, raw);
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
    return token;
  }

  #barEnd(logits: Float32Array): void {
    for (const id of this.#setup.stopTokenIds) if (id < logits.length) logits[id] = -Infinity;
  }

  #take(token: number): Ending {
    const { stopTokenIds, mask, limit } = this.#setup;
    if (stopTokenIds.has(token)) {
      if (this.#setup.job.logprobs !== null) this.#logprobs.pop();
      return this.#end("stop", { reasoning: "", text: "" });
    }
    this.#tokenIds.push(token);
    const { reasoning, text: answered } = this.#read(this.#detokenizer.push(token));
    const { text, stopText } = this.#stops.push(answered);
    if (stopText !== undefined) return { reasoning, text, stopText, finishReason: "stop" };
    if (mask?.isComplete) return this.#end("stop", { reasoning, text });
    return this.tokenCount >= limit
      ? this.#end("length", { reasoning, text })
      : { reasoning, text };
  }

  /** Thoughts are counted, and probabilities told of the answer alone. */
  #read(written: string): ThoughtPiece {
    const before = this.#thinking.state;
    const piece = this.#thinking.push(written);
    const { state } = this.#thinking;
    if (before === "answer" && state === "answer") return piece;
    this.#undecidedCount += 1;
    if (state === "undecided") return piece;
    if (before === "thoughts" || state === "thoughts") {
      this.#reasoningTokenCount += this.#undecidedCount;
      this.#logprobs = [];
    }
    this.#undecidedCount = 0;
    return piece;
  }

  /** Nothing more follows, so that what waits is text, unless it completes a stop. */
  #end(finishReason: FinishReason, before: ThoughtPiece): Ending {
    const last = this.#thinking.push(this.#detokenizer.flush());
    const held = this.#thinking.flush();
    const reasoning = before.reasoning + last.reasoning + held.reasoning;
    const { text, stopText } = this.#stops.push(last.text + held.text);
    const whole = { reasoning, text: before.text + text };
    if (stopText !== undefined) return { ...whole, stopText, finishReason: "stop" };
    return { reasoning, text: whole.text + this.#stops.flush(), finishReason };
  }

  #event({ text, reasoning, finishReason, stopText }: Ending): TextEvent {
    const event: TextEvent = {
      type: "text",
      choice: this.index,
      text,
      ...(reasoning !== "" && { reasoning }),
      tokenIds: this.#tokenIds,
      tokenCount: this.tokenCount,
      promptTokenCount: this.#setup.promptTokens.length,
      ...(this.#setup.job.logprobs !== null && { logprobs: this.#logprobs }),
      ...(finishReason && { finishReason }),
      ...(stopText !== undefined && { stopText }),
    };
    this.#tokenIds = [];
    this.#logprobs = [];
    return event;
  }

  #tellLogprob(token: number, raw: Float32Array): void {
    const likely = likelyTokens(raw, this.#setup.job.logprobs ?? 0);
    const top = likely.ids.map((id) => this.#describe(id, likely));
    this.#logprobs.push({ ...this.#describe(token, likely), top });
  }

  #describe(id: number, likely: LikelyTokens): TokenLogprob {
    const { tokenizer } = this.#setup;
    const bytes = tokenizer.bytes?.bytesOf(id) ?? Buffer.from(tokenizer.tokenOf(id) ?? "");
    const token = Buffer.from(bytes).toString("utf8");
    return { id, token, logprob: likely.logprobOf(id), bytes: [...bytes] };
  }
}

interface LikelyTokens {
  /** Likeliest first. */
  readonly ids: readonly number[];
  /** Natural logarithm of a token's probability. */
  logprobOf(id: number): number;
}

/** Finds the likeliest tokens; one a thread, its memory is reused. */
export function createLikelyTokens(): (logits: Float32Array, count: number) => LikelyTokens {
  const largest = new LargestLogits(MOST_LIKELY_TOKENS);
  const bins = new Float64Array(BINS);
  return (logits, count) => {
    const valueOf = (id: number) => logits[id] ?? -Infinity;
    const max = valueOf(argmax(logits));
    // Of exp(logit).
    const logSum = max + Math.log(weighIntoBins(logits, { max, scale: BINS_PER_NAT }, bins));
    const ids = count === 0 ? [] : [...largest.select(logits, count)];
    return {
      ids: ids.toSorted((a, b) => valueOf(b) - valueOf(a) || a - b),
      logprobOf: (id) => Math.max(LEAST_LOGPROB, valueOf(id) - logSum),
    };
  };
}

/** What is changed on logits before a token is chosen. */
interface LogitEdits {
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Divides what speaks for a token of prompt or answer; 1 changes nothing (CTRL, arXiv 1909.05858). */
  readonly repetitionPenalty: number;
  readonly bias: ReadonlyMap<number, number>;
}

/** How often each token stands in the answer, and which stand in the prompt. */
interface SeenTokens {
  readonly counts: ReadonlyMap<number, number>;
  readonly prompt: ReadonlySet<number>;
}

/** Changes the logits in place; only the tokens that are concerned are touched. */
export function editLogits(logits: Float32Array, edits: LogitEdits, seen: SeenTokens): void {
  const { repetitionPenalty, frequencyPenalty, presencePenalty, bias } = edits;
  if (repetitionPenalty !== 1) {
    for (const id of seen.prompt) penalizeRepetition(logits, id, repetitionPenalty);
    for (const id of seen.counts.keys())
      if (!seen.prompt.has(id)) penalizeRepetition(logits, id, repetitionPenalty);
  }
  if (frequencyPenalty !== 0 || presencePenalty !== 0) {
    for (const [id, count] of seen.counts)
      logits[id] = (logits[id] ?? 0) - frequencyPenalty * count - presencePenalty;
  }
  for (const [id, value] of bias) if (id < logits.length) logits[id] = (logits[id] ?? 0) + value;
}

function penalizeRepetition(logits: Float32Array, id: number, penalty: number): void {
  if (id >= logits.length) return;
  const value = logits[id] ?? 0;
  logits[id] = value < 0 ? value * penalty : value / penalty;
}

/** Sets the logits of barred tokens to −∞. Throws `invalid_output` where none is left. */
export function maskLogits(logits: Float32Array, allowed: Int32Array | Uint32Array): void {
  let isAnyAllowed = false;
  for (let word = 0, id = 0; id < logits.length; word += 1, id += 32) {
    const bits = allowed[word] ?? 0;
    if (bits !== 0) isAnyAllowed = true;
    const end = Math.min(id + 32, logits.length);
    if (bits === 0) logits.fill(-Infinity, id, end);
    else if (~bits !== 0) maskWord(logits, id, bits);
  }
  if (!isAnyAllowed) throw new JobError("invalid_output", "the grammar allows no token to follow");
}

function maskWord(logits: Float32Array, first: number, bits: number): void {
  const count = Math.min(32, logits.length - first);
  for (let bit = 0; bit < count; bit += 1)
    if (((bits >>> bit) & 1) === 0) logits[first + bit] = -Infinity;
}

interface StopResult {
  /** Text that certainly belongs to the answer. */
  readonly text: string;
  /** The stop text that ended it, once one is complete. */
  readonly stopText?: string;
}

/** Cuts an answer before the first stop text; what may be the beginning of one waits. */
export class StopMatcher {
  readonly #stops: readonly string[];
  #pending = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  push(text: string): StopResult {
    if (this.#stops.length === 0) return { text };
    const whole = this.#pending + text;
    const found = firstComplete(whole, this.#stops);
    if (found !== undefined) {
      this.#pending = "";
      return { text: whole.slice(0, found.start), stopText: found.stop };
    }
    const sure = whole.length - heldLength(whole, this.#stops);
    this.#pending = whole.slice(sure);
    return { text: whole.slice(0, sure) };
  }

  /** What still waits, at the end of the answer. */
  flush(): string {
    const rest = this.#pending;
    this.#pending = "";
    return rest;
  }
}

/** The stop that is complete earliest, so that how the text was cut into tokens does not matter. */
function firstComplete(text: string, stops: readonly string[]) {
  let first: { readonly start: number; readonly stop: string } | undefined;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    if (start < 0) continue;
    const end = start + stop.length;
    const earlier = first === undefined ? Infinity : first.start + first.stop.length;
    if (end < earlier || (end === earlier && start < (first?.start ?? 0))) first = { start, stop };
  }
  return first;
}

/** Whether the answer is text, which may go on where it might end. */
function isText(mask: MaskSpec | null): boolean {
  if (mask?.kind === "after-thinking") return isText(mask.answer);
  return mask === null || (mask.kind === "tool-calls" && mask.otherwise === "text");
}
