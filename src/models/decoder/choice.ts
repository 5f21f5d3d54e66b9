import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { createDetokenizer, type Detokenizer } from "../tokenizer/detokenizer.js";
import type { RandomStream } from "../sampling/random.js";
import type {
  ChosenLogprob,
  FinishReason,
  TextEvent,
  TextJob,
  TokenLogprob,
} from "./request/request.js";
import { createLikelyTokens, type LikelyTokens } from "./logprobs.js";
import type { TokenSampler } from "../sampling/token-sampler.js";
import { editLogits, type LogitEdits, maskLogits } from "./sampling-edits.js";
import { StopMatcher } from "./stops.js";
import type { TokenMask } from "./request/token-mask.js";

export interface ChoiceSetup {
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

const likelyTokens = createLikelyTokens();

interface Ending {
  readonly text: string;
  readonly finishReason?: FinishReason;
  readonly stopText?: string;
}

/** One answer in the making: chooses its next token from logits and turns tokens into certain text. */
export class Choice {
  readonly index: number;
  /** The token to feed next. */
  lastToken = 0;
  /** All that it chose, the token that ended it included. */
  readonly written: number[] = [];
  isEnded = false;
  readonly #setup: ChoiceSetup;
  readonly #detokenizer: Detokenizer;
  readonly #stops: StopMatcher;
  readonly #counts = new Map<number, number>();
  #tokenIds: number[] = [];
  #logprobs: ChosenLogprob[] = [];

  constructor(setup: ChoiceSetup) {
    const { job, promptTokens, tokenizer } = setup;
    this.index = setup.index;
    this.#setup = setup;
    this.#stops = new StopMatcher(job.stop);
    this.#detokenizer = createDetokenizer(tokenizer, {
      keepSpecialTokens: job.keepSpecialTokens ?? false,
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
    if (ending.text === "" && !this.isEnded) return undefined;
    return this.#event(ending);
  }

  get tokenCount(): number {
    return this.written.length;
  }

  #choose(logits: Float32Array): number {
    const { job, sampler, random, edits, promptSet, mask } = this.#setup;
    const raw = job.logprobs === null ? undefined : logits.slice();
    editLogits(logits, edits, { counts: this.#counts, prompt: promptSet });
    const allowed = mask?.allowed() ?? null;
    if (allowed) maskLogits(logits, allowed);
    const token = sampler.choose(logits, job, random.at(this.tokenCount));
    mask?.accept(token);
    if (raw) this.#tellLogprob(token, raw);
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
    return token;
  }

  #take(token: number): Ending {
    const { stopTokenIds, mask, limit } = this.#setup;
    if (stopTokenIds.has(token)) {
      if (this.#setup.job.logprobs !== null) this.#logprobs.pop();
      return this.#end("stop", "");
    }
    this.#tokenIds.push(token);
    const { text, stopText } = this.#stops.push(this.#detokenizer.push(token));
    if (stopText !== undefined) return { text, stopText, finishReason: "stop" };
    if (mask?.isComplete) return this.#end("stop", text);
    return this.tokenCount >= limit ? this.#end("length", text) : { text };
  }

  /** Nothing more follows, so that what waits is text, unless it completes a stop. */
  #end(finishReason: FinishReason, before: string): Ending {
    const { text, stopText } = this.#stops.push(this.#detokenizer.flush());
    if (stopText !== undefined) return { text: before + text, stopText, finishReason: "stop" };
    return { text: before + text + this.#stops.flush(), finishReason };
  }

  #event({ text, finishReason, stopText }: Ending): TextEvent {
    const event: TextEvent = {
      type: "text",
      choice: this.index,
      text,
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
