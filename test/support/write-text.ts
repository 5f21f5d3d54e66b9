import type { TextEngine } from "#framemill/models/decoder/open.js";
import type {
  ChosenLogprob,
  TextEvent,
  TextJob,
  TextUsage,
} from "#framemill/models/decoder/request/request.js";

/** The likeliest token each time. */
export const GREEDY_JOB: TextJob = {
  prompt: "",
  addSpecialTokens: true,
  maxTokens: 40,
  n: 1,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 7,
  stop: [],
  logitBias: {},
  logprobs: null,
  mask: null,
};

export interface Written {
  /** Text and ids of each choice. */
  readonly choices: readonly { readonly text: string; readonly ids: readonly number[] }[];
  readonly text: string;
  readonly ids: readonly number[];
  readonly logprobs: readonly ChosenLogprob[];
  readonly finishReason: string | undefined;
  readonly usage: TextUsage | undefined;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Called with every event as it comes. */
  readonly onEvent?: (event: TextEvent) => void;
}

/** What an engine writes, greedily where the job says nothing else; text and ids are the first choice's. */
export async function writeText(
  engine: TextEngine,
  job: Partial<TextJob>,
  { signal = new AbortController().signal, onEvent }: WriteOptions = {},
): Promise<Written> {
  const parts: TextPart[] = [];
  let usage: TextUsage | undefined;
  for await (const event of engine.generate({ ...GREEDY_JOB, ...job }, signal)) {
    onEvent?.(event);
    if (event.type === "end") usage = event.usage;
    else parts.push(event);
  }
  const choices = Array.from({ length: job.n ?? 1 }, (_, choice) => joined(parts, choice));
  const { text = "", ids = [] } = choices[0] ?? {};
  const logprobs = parts.flatMap((part) => part.logprobs ?? []);
  const ended = parts.find((part) => part.finishReason !== undefined);
  return { choices, text, ids, logprobs, finishReason: ended?.finishReason, usage };
}

type TextPart = Extract<TextEvent, { type: "text" }>;

function joined(parts: readonly TextPart[], choice: number) {
  const own = parts.filter((part) => part.choice === choice);
  return {
    text: own.map(({ text }) => text).join(""),
    ids: own.flatMap(({ tokenIds }) => tokenIds),
  };
}
