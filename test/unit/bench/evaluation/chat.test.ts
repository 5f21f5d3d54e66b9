import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { evaluateChat } from "#framemill/bench/evaluation/chat.js";
import type { Made } from "#framemill/bin/package-runner.js";

const SETS =
  "sums tables word-problems definitions unknown-words facts talk recall reading instructions json tool-calls tool-answers no-tool spelling everyday prompts dialogues".split(
    " ",
  );
const REFUSALS = ["\\bI (?:cannot|can't)\\b", "do not know the word (\\w+)"];
const model = { id: "small", modality: "chat", createdAtSeconds: 0, concurrency: 1 };

type Part =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly call: { readonly name: string; readonly arguments: string };
    };

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chat-evaluation-"));
  for (const name of SETS) writeFileSync(join(folder, `${name}.jsonl`), "");
  writeFileSync(join(folder, "refusals.json"), JSON.stringify(REFUSALS));
});
afterEach(() => rmSync(folder, { recursive: true }));

function given(name: string, ...rows: readonly unknown[]): void {
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(join(folder, `${name}.jsonl`), lines.join(""));
}

function question(expected: unknown, more: object = {}) {
  return { messages: [{ role: "user", content: "?" }], expect: expected, ...more };
}

interface Answer {
  readonly parts?: readonly Part[];
  readonly finishReason?: string;
  readonly logprobs?: readonly { readonly logprob: number }[];
}

/** Measures of a model that gives these answers, one after the other. */
async function measure(...answers: readonly Answer[]) {
  const bodies: Record<string, unknown>[] = [];
  const measures = await evaluateChat({
    model,
    folder,
    limit: Infinity,
    ffmpegPath: "",
    ffprobePath: "",
    signal: new AbortController().signal,
    make(body): Promise<Made> {
      bodies.push(body);
      const {
        parts = [],
        finishReason = "stop",
        logprobs = null,
      } = answers[bodies.length - 1] ?? {};
      const choices = [{ parts, finishReason, logprobs }];
      return Promise.resolve({ output: { choices }, files: new Map(), chunks: [], seconds: 0 });
    },
    progress() {},
  });
  return { measures, bodies };
}

function text(words: string): Answer {
  return { parts: [{ type: "text", text: words }] };
}

describe("the evaluation of chat", () => {
  it("reads the last number of an answer and counts answers that do not end", async () => {
    given("sums", question({ number: 7 }), question({ number: 7 }));
    const { measures } = await measure(text("3 + 4 = 7."), {
      ...text("7 7 7 4"),
      finishReason: "length",
    });
    expect(measures).toMatchObject({ sums: 0.5, stops: 0.5 });
  });

  it("counts no answer that does not end as right", async () => {
    given("facts", question({ contains: "4" }));
    const { measures } = await measure({ ...text("9 4 6 4"), finishReason: "length" });
    expect(measures["facts"]).toBe(0);
  });

  it("compares definitions by their words", async () => {
    given("definitions", question({ gloss: "Hen: adult female chicken.", word: "hen" }));
    const { measures } = await measure(text("Hen: adult male chicken."));
    expect(measures["definitions_f1"]).toBe(0.75);
  });

  it("wants whole words, and a minus where there is one", async () => {
    given("tool-answers", question({ all: ["-4", "sunny"] }), question({ all: ["cat"] }));
    const { measures } = await measure(text("It is 4 degrees and sunny."), text("A category."));
    expect(measures["tool_answers"]).toBe(0);
  });

  it("wants the right number of different words of a list", async () => {
    const fruits = { among: ["apple", "pear"], count: 2 };
    given("facts", question(fruits), question(fruits), question(fruits));
    const answers = [text("Apple, pear."), text("Apple, apple."), text("Apple, hammer.")];
    const { measures } = await measure(...answers);
    expect(measures["facts"]).toBe(0.3333);
  });

  it("holds the answer to the schema and counts fields", async () => {
    given("json", question({ fields: { name: "Mia", age: 4 } }, { schema: { type: "object" } }));
    const { measures, bodies } = await measure(text('{"name": "Mia", "age": 5}'));
    expect(measures["json_fields"]).toBe(0.5);
    expect(bodies[0]).toMatchObject({ response_format: { type: "json_schema" }, temperature: 0 });
  });

  it("wants the name and all arguments of a call, and none where words are wanted", async () => {
    const call = { name: "timer", arguments: { minutes: 5 } };
    const made: Part = { type: "call", call: { name: "timer", arguments: '{"minutes":5}' } };
    given("tool-calls", question({ call }), question({ call }));
    given("no-tool", question({ contains: "Paris" }));
    const { measures } = await measure(
      { parts: [made] },
      { parts: [{ type: "call", call: { name: "timer", arguments: '{"minutes":50}' } }] },
      { parts: [{ type: "text", text: "Paris" }, made] },
    );
    expect(measures).toMatchObject({ tool_calls: 0.5, no_tool: 0 });
  });

  it("takes any right answer to an everyday prompt, and a refusal only where that is right", async () => {
    const messages = [{ role: "user", content: "?" }];
    const sum = { messages, right: [{ number: 4 }, { matches: ["\\bfour\\b"] }], refusal: "wrong" };
    const harm = { messages, right: [], refusal: "right" };
    given("everyday", sum, sum, sum, harm, harm, harm);
    const { measures } = await measure(
      text("It is Four."),
      text("2 + 2 = 4."),
      text("I cannot add."),
      text("I can’t help with that."),
      text("First, take a wire."),
      { ...text("I cannot"), finishReason: "length" },
    );
    expect(measures["everyday"]).toBe(0.5);
  });

  it("takes no refusal that names a word that nobody said", async () => {
    const messages = [{ role: "user", content: "What is a Glorph?" }];
    given(
      "everyday",
      ...Array.from({ length: 2 }, () => ({ messages, right: [], refusal: "right" })),
    );
    const { measures } = await measure(
      text("I do not know the word glorph."),
      text("I do not know the word potato."),
    );
    expect(measures["everyday"]).toBe(0.5);
  });

  it("counts an answer to any prompt that repeats itself or does not end as a loop", async () => {
    const { expect: _, ...prompt } = question(null);
    given("prompts", prompt, prompt, prompt, prompt);
    const { measures } = await measure(
      text("I do not know."),
      text("to and fro to and fro to and fro"),
      { ...text("A long answer"), finishReason: "length" },
      text("No."),
    );
    expect(measures["loops"]).toBe(0.5);
  });

  it("counts no everyday answer that says three words thrice in a row", async () => {
    const greeting = { messages: [], right: [{ matches: ["hello"] }], refusal: "wrong" };
    given("everyday", greeting, greeting);
    const circle = "Hello to you! ".repeat(3);
    const { measures } = await measure(
      text(`Well. ${circle}`),
      text("Hello to you! Hello to you!"),
    );
    expect(measures["everyday"]).toBe(0.5);
  });

  it("forces the tokens of a reference one by one for the perplexity", async () => {
    const messages = [{ role: "user", content: "Hi" }];
    given("dialogues", {
      messages,
      words: [
        [5, "Good"],
        [9, " day"],
      ],
    });
    const { measures, bodies } = await measure(
      { logprobs: [{ logprob: Math.log(0.5) }] },
      { logprobs: [{ logprob: Math.log(0.125) }] },
    );
    expect(measures["perplexity"]).toBe(4);
    expect(bodies[1]).toMatchObject({
      messages: [...messages, { role: "assistant", content: "Good" }],
      logit_bias: { 9: 100 },
      max_tokens: 1,
    });
  });
});
