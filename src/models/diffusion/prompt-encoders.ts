import type { Graphs } from "../../runtime/ort/graphs.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { float32, floatsOf, int64, int64Of, type Tensor } from "../../runtime/tensors/tensor.js";
import { loadModelTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { hashedNgramSettings, hashNgrams, wordsOf } from "../tokenizer/hashed-ngrams.js";
import { findOutput } from "./graph-ports.js";

export const ENCODER_ROLES = ["text-encoder", "text-encoder-2", "text-encoder-3"] as const;
type EncoderRole = (typeof ENCODER_ROLES)[number];

/**
 * Outputs of a text encoder: `last` and `penultimate` states [1, tokens, features] or those after a layer,
 * counted from 1, `pooled` [1, features]. Where the `mask` [1, tokens] is asked for, 0 for padding, the encoder does not see the padding.
 */
type EncoderOutput = "last" | "penultimate" | `hidden_states.${number}` | "pooled" | "mask";

/** Tokens that a text is cut or filled to: so many, or the least multiple that holds it. */
export type PromptLength = number | { readonly multiple: number; readonly most: number };

/** A prompt within the text around it. */
export interface WrittenPrompt {
  readonly text: string;
  /** Breaks up what the prompt has of the tokenizer's special tokens, and is no part of the text. */
  readonly mark: string;
  /** Whether the tokenizer adds its own tokens. */
  readonly addSpecialTokens: boolean;
}

/** The text encoders of a package with their tokenizers. */
export interface PromptEncoders {
  has(role: EncoderRole): boolean;
  /** States of a text cut or filled to so many tokens; to CLIP's own by default. */
  run<Output extends EncoderOutput>(
    role: EncoderRole,
    text: string,
    outputs: readonly Output[],
    length?: PromptLength,
  ): Promise<Readonly<Record<Output, Tensor>>>;
  /** Tokens of a text as the first tokenizer counts them, without special ones. */
  count(text: string): number;
  /** What is not read or understood of a prompt, in sentences for the caller. */
  notes(text: string): Promise<readonly string[]>;
  /** Most tokens that the longest encoder reads of a prompt. */
  readonly promptTokens: number;
  /** Features of the text states that the denoiser takes; 0 where it does not say. */
  readonly contextFeatures: number;
}

interface PromptEncodersSetup {
  readonly model: ModelPackage;
  readonly sessions: Graphs;
  readonly promptTokens: number;
  readonly contextFeatures: number;
  /** How prompts are written, where not as they are. */
  readonly write?: ((prompt: string) => WrittenPrompt) | undefined;
}

/** CLIP reads this many tokens where its tokenizer does not say. */
const CLIP_TOKENS = 77;

export async function openPromptEncoders(setup: PromptEncodersSetup): Promise<PromptEncoders> {
  const { model, sessions, write } = setup;
  const roles = ENCODER_ROLES.filter((role) => sessions.info[role] !== undefined);
  const tokenizers = new Map<EncoderRole, TextTokenizer>();
  for (const role of roles)
    tokenizers.set(role, await loadModelTokenizer(model, role.slice("text-encoder".length)));
  const tokenizerOf = (role: EncoderRole): TextTokenizer => {
    const tokenizer = tokenizers.get(role);
    if (tokenizer === undefined) throw new Error(`${model.path}/model.json has no ${role}`);
    return tokenizer;
  };
  return {
    promptTokens: setup.promptTokens,
    contextFeatures: setup.contextFeatures,
    has: (role) => tokenizers.has(role),
    count: (text) =>
      tokenizerOf("text-encoder").encode(text, { addSpecialTokens: false }).ids.length,
    async notes(text) {
      const longest = tokenizerOf(roles.at(-1) ?? "text-encoder");
      return promptNotes(longest, write?.(text) ?? text, setup.promptTokens);
    },
    async run(role, text, outputs, length) {
      const tokenizer = tokenizerOf(role);
      const most = length ?? tokenizer.maxTokens ?? CLIP_TOKENS;
      const { ids, used } = promptTokens(tokenizer, write?.(text) ?? text, most);
      // Most models were trained to see the padding.
      const hidesPadding = write !== undefined || outputs.some((output) => output === "mask");
      if (hidesPadding && !readsMask(sessions, role))
        throw new Error(`the graph ${role} has no input attention_mask, and would see the padding`);
      const seen = hidesPadding ? used : ids.length;
      return await runEncoder(sessions, role, { ids, seen, outputs });
    },
  };
}

interface EncoderRun<Output> {
  readonly ids: readonly number[];
  /** Ids from the first on that the encoder sees. */
  readonly seen: number;
  readonly outputs: readonly Output[];
}

function readsMask(sessions: Graphs, role: EncoderRole): boolean {
  return sessions.info[role]?.inputs.some(({ name }) => name === "attention_mask") ?? false;
}

async function runEncoder<Output extends EncoderOutput>(
  sessions: Graphs,
  role: EncoderRole,
  { ids, seen, outputs }: EncoderRun<Output>,
): Promise<Record<Output, Tensor>> {
  const computed = outputs.filter((output) => output !== "mask");
  const names = computed.map((output) => [output, outputName(sessions, role, output)] as const);
  const dims = [1, ids.length];
  const mask = ids.map((_, index) => (index < seen ? 1 : 0));
  const feeds = { input_ids: int64Of(ids, dims), attention_mask: int64Of(mask, dims) };
  const results = await sessions.run(role, feeds, { fetch: names.map(([, name]) => name) });
  const entries = names.map(([output, name]) => {
    const shape = results[name]?.dims ?? [];
    return [output, float32(floatsOf(results, name), shape)] as const;
  });
  if (computed.length < outputs.length)
    // Asked for among `outputs`.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    entries.push(["mask" as Output & "mask", float32(Float32Array.from(mask), dims)]);
  // One entry for each of `outputs`; fromEntries widens the keys.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Record<Output, Tensor>;
}

/** Names of optimum's exports. `hidden_states.0` is the embedding, so the last but one is the penultimate. */
function outputName(sessions: Graphs, role: EncoderRole, output: EncoderOutput): string {
  const graph = sessions.info[role] ?? { inputs: [], outputs: [] };
  if (output === "last") return findOutput(graph, ["last_hidden_state", "text_embeddings"]);
  if (output === "pooled") return findOutput(graph, ["text_embeds", "pooler_output"]);
  if (output !== "penultimate" && output !== "mask") {
    if (graph.outputs.some(({ name }) => name === output)) return output;
    throw new Error(`the graph ${role} has no output ${output}`);
  }
  const states = graph.outputs
    .flatMap(({ name }) => /^hidden_states\.(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number);
  if (states.length < 2)
    throw new Error(`the graph ${role} has no outputs hidden_states.0 and so on`);
  return `hidden_states.${Math.max(...states) - 1}`;
}

const STATES = "last_hidden_state";

/** The one text encoder of a package whose words are hashed; undefined where they are not. */
export function openHashedPrompts({
  model,
  sessions,
  contextFeatures,
}: PromptEncodersSetup): PromptEncoders | undefined {
  const parsed = hashedNgramSettings.safeParse(model.tokenizer);
  if (!parsed.success) return undefined;
  const settings = parsed.data;
  const { words, idsPerWord } = settings;
  const run = async (text: string) => {
    const ids = int64(hashNgrams(text, settings), [1, words, idsPerWord]);
    return await sessions.run("text-encoder", { input_ids: ids });
  };
  return {
    promptTokens: words,
    contextFeatures,
    has: (role) => role === "text-encoder",
    count: (text) => Math.min(wordsOf(text, settings).length, words),
    notes: async (text) => [
      ...cutNotes(wordsOf(text, settings).length, words, "words"),
      ...unknownNotes(await run(text)),
    ],
    run: async (role, text, outputs) => {
      if (role !== "text-encoder" || outputs.some((output) => output !== "last"))
        throw new Error(`${model.path}: a text encoder of hashed words has last states only`);
      const states = await run(text);
      const last = float32(floatsOf(states, STATES), states[STATES]?.dims ?? []);
      // One entry for each of `outputs`; fromEntries widens the keys.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return Object.fromEntries(outputs.map((output) => [output, last])) as Record<
        (typeof outputs)[number],
        Tensor
      >;
    },
  };
}

/** What the model draws in place of what is not of its world, by output of its text encoder. */
const UNKNOWN = {
  unknown_subject:
    "The prompt names no subject that this model knows; it drew the scene without one.",
  unknown_setting: "The prompt names no setting that this model knows; it chose one of its own.",
} as const;

/**
 * Says what of the first prompt of a batch the text encoder finds unknown: each of those outputs is
 * a likelihood [batch]. Nothing where the graph has no such outputs.
 */
export function unknownNotes(outputs: Readonly<Record<string, Tensor>>): string[] {
  return Object.entries(UNKNOWN).flatMap(([name, note]) => {
    const [likelihood = 0] = name in outputs ? floatsOf(outputs, name) : [];
    return likelihood > 0.5 ? [note] : [];
  });
}

/** Says of a prompt that is longer than its encoder reads how much of it was. */
export function cutNotes(length: number, most: number, unit: "tokens" | "words"): string[] {
  if (length <= most) return [];
  return [`Only the first ${most} of the prompt's ${length} ${unit} were read.`];
}

export function promptNotes(
  tokenizer: TextTokenizer,
  prompt: string | WrittenPrompt,
  most: number,
): string[] {
  const { text, ...options } = typeof prompt === "string" ? { text: prompt } : prompt;
  return cutNotes(tokenizer.encode(text, options).ids.length, most, "tokens");
}

/** One prompt as a text encoder reads it. */
interface PromptTokens {
  /** Cut to fit, special tokens kept, filled up with the padding token. */
  readonly ids: readonly number[];
  /** Ids before the padding. */
  readonly used: number;
}

export function promptTokens(
  tokenizer: TextTokenizer,
  prompt: string | WrittenPrompt,
  length: PromptLength,
): PromptTokens {
  const { text, ...options } = typeof prompt === "string" ? { text: prompt } : prompt;
  const { multiple, most } =
    typeof length === "number" ? { multiple: length, most: length } : length;
  const { ids } = tokenizer.encode(text, { ...options, maxTokens: most });
  const padding = tokenizer.special.pad ?? tokenizer.special.eos ?? 0;
  const filled = Math.max(1, Math.ceil(ids.length / multiple)) * multiple;
  const missing = Math.max(0, filled - ids.length);
  return { ids: [...ids, ...Array.from({ length: missing }, () => padding)], used: ids.length };
}
