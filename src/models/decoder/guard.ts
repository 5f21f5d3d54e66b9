import type { PipelineSetup } from "../../core/modality.js";
import { startEach } from "../../runtime/batching/yield-to-event-loop.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { softmax } from "../encoder/settings.js";
import type { JudgeContext, Judgement, TextGuard } from "../guarding/text-guard.js";
import { type ChatTemplate, openChatTemplate } from "./chat-template.js";
import { guardShapes, POLICIES, type YesNoForm } from "./guard-forms.js";
import { openReadingEngine, type ReadingEngine, tokenOf } from "./open.js";
import type { TextJob } from "./request/request.js";

/** Tokens in which a guard names the categories that it found. */
const LIST_TOKENS = 64;
/** A text that is safe by more than this is not asked for its categories. */
const LEAST_UNSAFE = 0.01;

/** Opens a causal language model that was taught to judge texts, by the form that its chat template has. */
export async function openDecoderGuard(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TextGuard> {
  const { promptForm } = parseSettings(
    guardShapes,
    model.shapes,
    `${model.path}/model.json: shapes`,
  );
  const lists = promptForm === "llama-guard";
  const engine = await openReadingEngine(model, { ...setup, writes: lists });
  try {
    const template = await openChatTemplate(model, engine.info.addedTokens);
    const reader = { engine, template, spare: lists ? LIST_TOKENS : 0 };
    return lists ? listingGuard(reader) : yesNoGuard(reader, promptForm);
  } catch (thrown) {
    await engine.close();
    throw thrown;
  }
}

interface PromptReader {
  readonly engine: ReadingEngine;
  readonly template: ChatTemplate;
  /** Tokens that are left for an answer. */
  readonly spare: number;
}

type Variables = Readonly<Record<string, unknown>>;

/** Prompts with the text whole, or with its halves where that is longer than the model reads. */
function promptsOf(reader: PromptReader, text: string, variables: Variables = {}): number[][] {
  const { engine, template, spare } = reader;
  const rendered = template.render([{ role: "user", content: text }], [], variables);
  const ids = engine.tokenizer.encode(withAnswerHead(rendered.text), {
    addSpecialTokens: rendered.addSpecialTokens,
    mark: rendered.mark,
  }).ids;
  if (ids.length + spare <= engine.info.contextTokens) return [ids];
  if (text.length < 2)
    throw new Error(
      `the guard's own words are ${ids.length} tokens, of which it reads ${engine.info.contextTokens - spare}`,
    );
  const space = text.lastIndexOf(" ", text.length >> 1);
  const middle = space > 0 ? space : text.length >> 1;
  const halves = [text.slice(0, middle), text.slice(middle)];
  return halves.flatMap((half) => promptsOf(reader, half, variables));
}

/** Llama's templates of guards leave it to the model to begin with the two lines that end every head. */
function withAnswerHead(prompt: string): string {
  return prompt.endsWith("<|end_header_id|>") ? `${prompt}\n\n` : prompt;
}

/** Probabilities of the labels, for each prompt that a text was put into. */
type JudgeText = (text: string) => Promise<readonly (readonly number[])[]>;

/** Judges many texts at once; the prompts of one share the greatest probabilities. */
async function judgeAll(
  { engine: { tokenizer } }: PromptReader,
  texts: readonly string[],
  { signal }: JudgeContext,
  judge: JudgeText,
): Promise<Judgement[]> {
  return await startEach(texts, signal, async (text) => {
    const tokens = tokenizer.encode(text, { addSpecialTokens: false }).ids.length;
    return { probabilities: greatest(await judge(text)), tokens };
  });
}

function greatest(parts: readonly (readonly number[])[]): number[] {
  return (parts[0] ?? []).map((_, label) => Math.max(...parts.map((part) => part[label] ?? 0)));
}

/** Asks of each policy whether the text breaks it: the share of `Yes` between `Yes` and `No`. */
function yesNoGuard(reader: PromptReader, form: YesNoForm): TextGuard {
  const { engine } = reader;
  const tokenIds = ["No", "Yes"].map((word) => tokenOf(engine.tokenizer, word));
  const policies = POLICIES[form];
  const labels = Object.keys(policies);
  return {
    labels,
    judge: (texts, context) =>
      judgeAll(reader, texts, context, async (text) => {
        const { signal, tenant: cacheScope } = context;
        const asked = Object.values(policies).map(async (variables, label) => {
          const found: number[][] = [];
          for (const promptTokens of promptsOf(reader, text, variables)) {
            const reading = { promptTokens, tokenIds, cacheScope };
            const [, yes = Number.NaN] = softmax(await engine.logitsAfter(reading, signal));
            found.push(labels.map((_, at) => (at === label ? yes : 0)));
          }
          return found;
        });
        return (await Promise.all(asked)).flat();
      }),
    close: () => engine.close(),
  };
}

/** A line of the list that the template writes, e.g. `S1: Violent Crimes.`. */
const CATEGORY = /^(S\d+): (.+?)\.?$/;

/** Asks whether a text is `safe` or `unsafe`, and lets the model name the categories of what is not. */
function listingGuard(reader: PromptReader): TextGuard {
  const { engine, template } = reader;
  const [safe, unsafe] = ["safe", "unsafe"].map((word) => tokenOf(engine.tokenizer, word));
  const { text: words } = template.render([{ role: "user", content: "text" }], []);
  const categories = new Map(
    words.split("\n").flatMap((line) => {
      const [, code = "", name = ""] = CATEGORY.exec(line.trim()) ?? [];
      return code === "" ? [] : [[code, name] as const];
    }),
  );
  if (safe === undefined || unsafe === undefined || categories.size === 0)
    throw new Error("the guard's chat template must list its categories, S1: …, line by line");
  const codes = [...categories.keys()];
  const judgePart = async (
    promptTokens: readonly number[],
    { signal, tenant: cacheScope }: JudgeContext,
  ) => {
    const reading = { promptTokens, tokenIds: [safe, unsafe], cacheScope };
    const [, probability = Number.NaN] = softmax(await engine.logitsAfter(reading, signal));
    if (probability < LEAST_UNSAFE) return codes.map(() => 0);
    const job = listJob([...promptTokens, unsafe], cacheScope);
    let list = "";
    for await (const event of engine.generate(job, signal))
      if (event.type === "text") list += event.text;
    const named = new Set(list.match(/S\d+/g));
    // Unsafe without a category that is known: it speaks against all.
    const isNamed = (code: string) => named.has(code) || !codes.some((one) => named.has(one));
    return codes.map((code) => (isNamed(code) ? probability : 0));
  };
  return {
    labels: [...categories.values()],
    judge: (texts, context) =>
      judgeAll(reader, texts, context, (text) =>
        Promise.all(promptsOf(reader, text).map((prompt) => judgePart(prompt, context))),
      ),
    close: () => engine.close(),
  };
}

function listJob(promptTokens: readonly number[], cacheScope: string | undefined): TextJob {
  return {
    prompt: "",
    promptTokens,
    promptParam: "input",
    addSpecialTokens: false,
    maxTokens: LIST_TOKENS - 1,
    n: 1,
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    seed: 0,
    stop: [],
    logitBias: {},
    logprobs: null,
    mask: null,
    cacheScope,
  };
}
