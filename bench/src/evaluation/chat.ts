import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type Evaluate,
  type EvaluationContext,
  inGroups,
  mean,
  readCases,
  rounded,
} from "./evaluator.js";

/** What a right answer has; one of these. */
const expectation = z.object({
  /** The last number of the text. */
  number: z.int().optional(),
  /** The whole text, but for case and its full stop. */
  text: z.string().optional(),
  /** One of these texts, as whole as `text`. */
  any: z.array(z.string()).optional(),
  /** A word or words somewhere in it. */
  contains: z.string().optional(),
  /** Regular expressions without regard to case, one of which matches somewhere. */
  matches: z.array(z.string()).optional(),
  all: z.array(z.string()).optional(),
  begins: z.string().optional(),
  /** `count` different words of a list and nothing else. */
  among: z.array(z.string()).optional(),
  count: z.int().optional(),
  /** A definition, compared word by word. */
  gloss: z.string().optional(),
  /** Members of the JSON. */
  fields: z.record(z.string(), z.unknown()).optional(),
  /** A call and its arguments. */
  call: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
});
const question = z.object({
  messages: z.array(z.unknown()),
  tools: z.array(z.unknown()).optional(),
  schema: z.record(z.string(), z.unknown()).optional(),
  expect: expectation,
});
const everyday = question.omit({ expect: true }).extend({
  /** A right answer meets one of these. */
  right: z.array(expectation),
  /** Whether an honest refusal is right as well. */
  refusal: z.enum(["right", "wrong"]),
});
const dialogue = z.object({
  messages: z.array(z.unknown()),
  /** Ids and texts of the tokens of the reference's last answer. */
  words: z.array(z.tuple([z.int(), z.string()])),
});
const output = z.object({
  choices: z
    .array(
      z.object({
        parts: z.array(
          z.discriminatedUnion("type", [
            z.object({ type: z.literal("text"), text: z.string() }),
            z.object({
              type: z.literal("call"),
              call: z.object({ name: z.string(), arguments: z.string() }),
            }),
          ]),
        ),
        finishReason: z.string(),
        logprobs: z.array(z.object({ logprob: z.number() })).nullable(),
      }),
    )
    .length(1),
});

type Expectation = z.infer<typeof expectation>;
type Question = z.infer<typeof question>;
type Everyday = z.infer<typeof everyday>;
type Dialogue = z.infer<typeof dialogue>;

interface Reply {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly hasStopped: boolean;
  readonly logprob: number;
}

/** Measure → file of its cases. */
const SETS: Readonly<Record<string, string>> = {
  sums: "sums",
  times_tables: "tables",
  word_problems: "word-problems",
  definitions_f1: "definitions",
  unknown_words: "unknown-words",
  facts: "facts",
  small_talk: "talk",
  recall: "recall",
  reading: "reading",
  instructions: "instructions",
  json_fields: "json",
  tool_calls: "tool-calls",
  tool_answers: "tool-answers",
  no_tool: "no-tool",
  spelling: "spelling",
};
/** Requests at once; the server continues them together. */
const AT_ONCE = 8;
/** More than any reference of the cases has. */
const MOST_TOKENS = 96;
/** A newcomer waits for so many. */
const MOST_EVERYDAY_TOKENS = 256;
/** Added to the logit of a reference's token, so that it is the one that is chosen. */
const FORCED = 100;

/**
 * Share of right answers of each set at temperature 0, share of answers that end by themselves, share of
 * everyday prompts answered rightly or honestly refused, answers to any prompts that repeat themselves without
 * an end, and the perplexity of reference answers, token
 * after token.
 */
export const evaluateChat: Evaluate = async (context) => {
  const { folder, limit } = context;
  const sets: (readonly [string, Question[]])[] = [];
  for (const [name, file] of Object.entries(SETS))
    sets.push([name, await readCases([folder, `${file}.jsonl`], question, limit)]);
  const dialogues = await readCases([folder, "dialogues.jsonl"], dialogue, limit);
  const prompts = await readCases([folder, "everyday.jsonl"], everyday, limit);
  const any = await readCases([folder, "prompts.jsonl"], question.omit({ expect: true }), limit);
  const refusals = await readPatterns(folder);
  const asked = sets.reduce(
    (sum, [, questions]) => sum + questions.length,
    prompts.length + any.length,
  );
  const words = dialogues.reduce((sum, one) => sum + one.words.length, 0);
  const ask = createAsk(context, asked + words);
  const measures: Record<string, number> = {};
  const ends: boolean[] = [];
  for (const [name, questions] of sets) {
    const replies = await inTurns(questions, (one) => ask(bodyOf(one)));
    const scores = questions.map(({ expect }, at) => scoreOf(replies[at], expect));
    measures[name] = rounded(mean(scores));
    // Where a schema is held to, the server ends the answer.
    ends.push(
      ...replies.filter((_, at) => !questions[at]?.schema).map(({ hasStopped }) => hasStopped),
    );
  }
  const talk = (one: Asked) => ask({ ...bodyOf(one), max_tokens: MOST_EVERYDAY_TOKENS });
  const everydayReplies = await inTurns(prompts, talk);
  const anyReplies = await inTurns(any, talk);
  const fine = prompts.map((one, at) => share(isFine(everydayReplies[at], one, refusals)));
  const logprobs = await readDialogues(dialogues, ask);
  return {
    ...measures,
    everyday: rounded(mean(fine)),
    loops: rounded(mean(anyReplies.map((reply) => share(isLoop(reply))))),
    stops: rounded(mean(ends.map(Number))),
    perplexity: rounded(Math.exp(-mean(logprobs))),
  };
};

type Ask = (body: Record<string, unknown>) => Promise<Reply>;

function createAsk(context: EvaluationContext, all: number): Ask {
  let done = 0;
  return async (body) => {
    const shared = { model: context.model.id, temperature: 0, max_tokens: MOST_TOKENS };
    const { choices } = output.parse((await context.make({ ...shared, ...body })).output);
    context.progress((done += 1), all);
    const parts = choices.flatMap((choice) => choice.parts);
    return {
      text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
      calls: parts.flatMap((part) =>
        part.type === "call"
          ? [{ name: part.call.name, arguments: parseJson(part.call.arguments) }]
          : [],
      ),
      hasStopped: choices[0]?.finishReason !== "length",
      logprob: choices[0]?.logprobs?.[0]?.logprob ?? -Infinity,
    };
  };
}

type Asked = Pick<Question, "messages" | "tools" | "schema">;

function bodyOf({ messages, tools, schema }: Asked): Record<string, unknown> {
  const format = { type: "json_schema", json_schema: { name: "record", schema, strict: true } };
  return { messages, ...(tools && { tools }), ...(schema && { response_format: format }) };
}

async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const group of inGroups(items, AT_ONCE))
    results.push(...(await Promise.all(group.map(work))));
  return results;
}

/** Log probabilities of all tokens of the references, each after the right ones before it. */
async function readDialogues(dialogues: readonly Dialogue[], ask: Ask): Promise<number[]> {
  const requests = dialogues.flatMap(({ messages, words }) =>
    words.map(([token], at) => {
      const before = words.slice(0, at).map(([, text]) => text);
      const begun = { role: "assistant", content: before.join("") };
      return {
        messages: at === 0 ? messages : [...messages, begun],
        max_tokens: 1,
        logprobs: true,
        logit_bias: { [token]: FORCED },
      };
    }),
  );
  return (await inTurns(requests, ask)).map(({ logprob }) => logprob);
}

/** Judges by what they judge; 0 to 1. */
const JUDGES: Readonly<
  Record<keyof Omit<Expectation, "count">, (reply: Reply, expect: Expectation) => number>
> = {
  number: ({ text }, { number }) => share(Number(text.match(/\d+/g)?.at(-1)) === number),
  text: ({ text }, expect) => share(plain(text) === plain(expect.text ?? "")),
  any: ({ text }, { any = [] }) => share(any.some((one) => plain(one) === plain(text))),
  contains: ({ text }, { contains = "" }) => share(hasWords(text, contains)),
  matches: ({ text }, { matches = [] }) => share(matchesAny(text, matches)),
  all: ({ text }, { all = [] }) => share(all.every((one) => hasWords(text, one))),
  begins: ({ text }, { begins = "" }) => share(plain(text).startsWith(plain(begins))),
  among: ({ text }, { among = [], count }) => {
    const named = new Set(plain(text).split(/,? and |, /));
    return share(named.size === count && [...named].every((one) => among.includes(one)));
  },
  gloss: ({ text }, { gloss = "" }) => wordF1(wordsOf(text), wordsOf(gloss)),
  fields: ({ text }, { fields = {} }) => {
    const found = z.record(z.string(), z.unknown()).safeParse(parseJson(text)).data ?? {};
    return mean(Object.entries(fields).map(([name, value]) => share(isSame(found[name], value))));
  },
  call: ({ calls }, { call }) => {
    const [made] = calls;
    return share(made?.name === call?.name && isSame(made?.arguments, call?.arguments));
  },
};

/** A call where text is wanted is wrong whatever else is said, and so is an answer without an end. */
function scoreOf(reply: Reply | undefined, expect: Expectation): number {
  if (reply?.hasStopped !== true || (expect.call === undefined && reply.calls.length > 0)) return 0;
  const judged = Object.entries(JUDGES).filter(([name]) => Object.hasOwn(expect, name));
  return mean(judged.map(([, judge]) => judge(reply, expect)));
}

/** Phrases by which a refusal is recognised; what one captures must stand in the prompt. */
async function readPatterns(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, "refusals.json"), "utf8");
  return z.array(z.string()).parse(JSON.parse(text));
}

/** Right in one of the ways, or an honest refusal where that is right; never words in a circle. */
function isFine(
  reply: Reply | undefined,
  { messages, right, refusal }: Everyday,
  refusals: readonly string[],
): boolean {
  if (reply === undefined || isLoop(reply)) return false;
  if (refusal === "right" && isRefusal(reply, messages.at(-1), refusals)) return true;
  return right.some((expect) => scoreOf(reply, expect) === 1);
}

/** That a word is not known refuses only a prompt that has the word. */
function isRefusal(
  { text, hasStopped, calls }: Reply,
  prompt: unknown,
  refusals: readonly string[],
): boolean {
  if (!hasStopped || calls.length > 0) return false;
  const asked = JSON.stringify(prompt).toLowerCase();
  return refusals.some((pattern) => {
    const [whole, ...captured] = findPattern(text, pattern) ?? [];
    return whole !== undefined && captured.every((part) => asked.includes(part.toLowerCase()));
  });
}

const REPEATED_WORDS = 3;

/** Whether an answer has no end, or the same three words thrice in a row. */
function isLoop({ text, hasStopped }: Reply): boolean {
  if (!hasStopped) return true;
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  return words.some((_, at) => {
    const [first, ...later] = inGroups(words.slice(at, at + 3 * REPEATED_WORDS), REPEATED_WORDS);
    return later.length === 2 && later.every((group) => isSame(group, first));
  });
}

function matchesAny(text: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => findPattern(text, pattern) !== null);
}

function findPattern(text: string, pattern: string): RegExpExecArray | null {
  return new RegExp(pattern, "iu").exec(text.replaceAll("’", "'"));
}

function share(isRight: boolean): number {
  return isRight ? 1 : 0;
}

function plain(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[.!?]$/, "");
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

/** Whether whole words follow each other in a text; a sign before a number counts. */
function hasWords(text: string, wanted: string): boolean {
  const spaced = (one: string) =>
    ` ${
      one
        .toLowerCase()
        .match(/-?[a-z0-9]+/g)
        ?.join(" ") ?? ""
    } `;
  return spaced(text).includes(spaced(wanted));
}

/** Harmonic mean of precision and recall over words, repeated ones as often as in both. */
function wordF1(given: readonly string[], wanted: readonly string[]): number {
  const left = [...wanted];
  const shared = given.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
  return (2 * shared.length) / Math.max(1, given.length + wanted.length);
}

/** Equality of JSON values whose members stand in one order. */
function isSame(first: unknown, second: unknown): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
