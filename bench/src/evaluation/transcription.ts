import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type Evaluate, type EvaluationContext, mean, readCases, rounded } from "./evaluator.js";
import { matchWords, wordErrors } from "./words.js";

const SETS = ["natural", "formant", "long", "real", "silent", "starter"] as const;

const recording = z.object({
  set: z.enum(SETS),
  file: z.string().regex(/^[\w-]+\.ogg$/),
  /** Its words in lower case; empty where nobody speaks. */
  text: z.string(),
  /** Seconds at which each word begins, where it is known. */
  starts: z.array(z.number()).optional(),
});
const output = z.object({
  transcript: z.object({
    text: z.string(),
    words: z.array(z.object({ word: z.string(), startSeconds: z.number() })),
  }),
});

type Recording = z.infer<typeof recording>;

interface Heard extends Recording {
  readonly heard: string;
  /** Words with the seconds at which they were said to begin. */
  readonly words: readonly { readonly word: string; readonly startSeconds: number }[];
}

/**
 * Word error on voices that training never heard (a recorded speaker's and formant synthesisers'), on
 * them in a row, on recordings of people, and on what service-voice-1 says; how far word times are off;
 * words heard where nobody speaks.
 */
export const evaluateTranscription: Evaluate = async (context) => {
  const all = await readCases([context.folder, "cases.jsonl"], recording);
  const chosen = SETS.flatMap((set) =>
    all.filter((one) => one.set === set).slice(0, context.limit),
  );
  const heard: Heard[] = [];
  for (const one of chosen) {
    heard.push(await hear(context, one));
    context.progress(heard.length, chosen.length);
  }
  const errorOf = (...sets: readonly Recording["set"][]) =>
    rounded(wordError(heard.filter(({ set }) => sets.includes(set))));
  return {
    word_error: errorOf("natural", "formant"),
    word_error_natural: errorOf("natural"),
    word_error_formant: errorOf("formant"),
    word_error_long: errorOf("long"),
    word_error_real: errorOf("real"),
    word_error_starter: errorOf("starter"),
    word_time_error_seconds: rounded(mean(heard.flatMap(timeErrors))),
    invented_words: heard.flatMap((one) => (one.set === "silent" ? toWords(one.heard) : [])).length,
  };
};

async function hear(context: EvaluationContext, one: Recording): Promise<Heard> {
  const bytes = await readFile(join(context.folder, one.file));
  const made = await context.make({
    model: context.model.id,
    file: { filename: one.file, mediaType: "audio/ogg", bytes },
    response_format: "verbose_json",
    timestamp_granularities: ["word", "segment"],
  });
  const { text, words } = output.parse(made.output).transcript;
  return { ...one, heard: text, words };
}

/** Words put in, left out or changed, as a share of those that were said. */
function wordError(all: readonly Heard[]): number {
  const errors = all.map(({ text, heard }) => wordErrors(text, toWords(heard).join(" ")));
  const said = all.map(({ text }) => toWords(text).length);
  return errors.reduce(add, 0) / Math.max(1, said.reduce(add, 0));
}

const add = (sum: number, value: number) => sum + value;

/** In lower case, without punctuation. */
function toWords(text: string): string[] {
  const plain = text.toLowerCase().replaceAll("’", "'");
  return plain.match(/[\p{L}\p{N}]+(?:'\p{L}+)*/gu) ?? [];
}

/** Seconds between where each rightly heard word begins and where it was said to. */
function timeErrors({ text, starts = [], words }: Heard): number[] {
  const heard = words.map(({ word }) => toWords(word).join(""));
  return matchWords(text.split(" "), heard).flatMap(([place, at]) => {
    const [start, said] = [starts[place], words[at]?.startSeconds];
    return start === undefined || said === undefined ? [] : [Math.abs(start - said)];
  });
}
