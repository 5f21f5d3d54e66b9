import { readFile } from "node:fs/promises";
import { z } from "zod";
import {
  EMBEDDING_OUTPUTS,
  known,
  type Layout,
  type LayoutWishes,
  type Note,
  present,
  readModelConfig,
  type Recognised,
  requireFile,
  requireGraph,
  smallest,
  tokenizerFiles,
  tokenLimit,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { guardFormOf } from "./guard-forms.js";
import { QWEN3_RERANKER } from "../reranking/qwen3-prompt.js";
import { createChatTemplate, templateOfFile } from "./chat-template.js";
import { genaiWindow, longRopeWindow, ropeFields } from "./settings.js";

/** Sequences that are decoded together. */
const CONCURRENCY = 32;

const slidingWindow = z.object({
  window_size: z.int().positive().optional().catch(undefined),
  layers: z.array(z.int()).optional(),
});
const decoderOfGenai = z.object({
  filename: z.string().optional(),
  pipeline: z.unknown().optional(),
  sliding_window: slidingWindow.optional(),
});
type GenaiDecoder = z.infer<typeof decoderOfGenai>;
const genaiConfig = z.object({
  model: z.object({
    type: z.string(),
    context_length: z.number().optional(),
    decoder: decoderOfGenai.optional(),
    encoder: z.unknown().optional(),
    vision: z.unknown().optional(),
    speech: z.unknown().optional(),
  }),
});

/** What causal models are made for whose files look like a chat model's, by words of their names. */
const OTHER_TASKS = [
  [/rerank/i, "rerank", "a reranker"],
  [/guard|shieldgemma/i, "moderation", "a guard of prompts and answers"],
  [/orpheus|outetts/i, "speech", "a voice"],
] as const;

/** What a causal model is served as. */
type Task = Pick<Recognised, "shapes"> & { readonly modality: "chat" | "rerank" | "moderation" };

/** By the caller's word, else by the model's name or chat template; `--as chat` takes any as a chat model. */
async function taskOf(
  folder: ModelFolder,
  { modality }: LayoutWishes,
  type: string | null | undefined,
): Promise<Task> {
  if (modality === "chat") return { modality };
  const config = await folder.readJson("config.json", z.record(z.string(), z.unknown()));
  const names = [folder.name, config?.["_name_or_path"]].join(" ");
  const [, named, what] = OTHER_TASKS.find(([words]) => words.test(names)) ?? [];
  const promptForm = guardFormOf(await readTemplate(folder));
  const task = modality ?? named ?? (promptForm === undefined ? "chat" : "moderation");
  if (task === "rerank") return rerankTask(folder, type);
  if (task === "moderation") return guardTask(folder, promptForm);
  if (named === undefined) return { modality: "chat" };
  throw new Error(
    `${folder.name} is ${what} by its name, made as a causal language model: such models are not served as what they are; --as chat serves it as a chat model`,
  );
}

/** Rerankers are taught one form of question each, which nothing in their files says. */
function rerankTask({ name }: ModelFolder, type: string | null | undefined): Task {
  if (type === "qwen3") return { modality: "rerank", shapes: { promptForm: QWEN3_RERANKER } };
  throw new Error(
    `${name} cannot be taken as rerank: of causal language models Qwen3-Reranker is (model_type qwen3), and this is a ${type ?? "model of no stated type"}; --as chat serves it as a chat model`,
  );
}

const templateConfig = z.object({ chat_template: z.unknown().optional() });

async function readTemplate(folder: ModelFolder): Promise<string> {
  const file = folder.find("chat_template.jinja", "chat_template.json");
  const text = file === undefined ? "" : await readFile(folder.absolute(file), "utf8");
  const config = await folder.readJson("tokenizer_config.json", templateConfig);
  return text + JSON.stringify(config?.chat_template ?? "");
}

/** Guards are asked by their own chat templates, by which their kinds are known. */
function guardTask({ name }: ModelFolder, promptForm: string | undefined): Task {
  if (promptForm !== undefined) return { modality: "moderation", shapes: { promptForm } };
  throw new Error(
    `${name} cannot be taken as moderation: of causal language models Llama Guard 2 and 3, ShieldGemma and Granite Guardian 3.0 to 3.2 are, and its chat template is of none of them; --as chat serves it as a chat model`,
  );
}

/** ONNX Runtime GenAI: one folder with genai_config.json. */
export const genaiDecoder: Layout = {
  lookedFor: "genai_config.json (ONNX Runtime GenAI)",
  async recognise(folder, wishes) {
    const config = await folder.readJson("genai_config.json", genaiConfig);
    if (config === undefined) return undefined;
    const { model } = config;
    const task = await taskOf(folder, wishes, model.type);
    const parts = (["encoder", "vision", "speech"] as const).filter((part) => model[part]);
    if (model.decoder?.pipeline !== undefined) parts.unshift("encoder");
    const decoder = model.decoder?.filename;
    if (parts.length > 0 || decoder === undefined)
      throw new Error(
        `${folder.name} is a ${model.type} of ONNX Runtime GenAI in several graphs: only its single-graph text decoders are served; take the optimum export (config.json and onnx/) instead`,
      );
    const graph = requireFile(folder, decoder, "genai_config.json names it as the decoder");
    return served(folder, task, {
      decoder: graph,
      config: "genai_config.json",
      contextTokens: smallest(
        model.context_length,
        ropeWindow(folder, graph) ?? genaiWindow(model.type, model.context_length),
        lostWindow(model.decoder),
      ),
    });
  },
};

/** Positions that the graph of a model with LongRoPE reads as those of its first window. */
function ropeWindow(folder: ModelFolder, graph: string): number | undefined {
  return folder.outline(graph).branchConstants["cos_cache_small"]?.[0];
}

/** Tokens that a model was taught to see, where no layer of its graph sees so few. */
function lostWindow({ sliding_window: window }: GenaiDecoder = {}): number | undefined {
  return window?.layers?.length === 0 ? window.window_size : undefined;
}

/** Optimum and onnx-community: config.json of a causal language model and its graph. */
export const optimumDecoder: Layout = {
  lookedFor: "config.json of a …ForCausalLM with onnx/model.onnx",
  async recognise(folder, wishes) {
    const config = await readModelConfig(folder);
    const isCausal = config?.architectures?.some((name) => /(ForCausalLM|LMHeadModel)$/.test(name));
    if (config === undefined || !isCausal || isOfGenai(folder)) return undefined;
    const decoder = requireGraph(folder, "model", "decoder_model_merged");
    // Qwen3-Embedding and its kin: a causal architecture whose graph ends before the vocabulary.
    const outputs = folder.outline(decoder).outputs.map(({ name }) => name);
    if (!outputs.includes("logits") && outputs.some((name) => EMBEDDING_OUTPUTS.has(name)))
      return undefined;
    const task = await taskOf(folder, wishes, config.model_type);
    const positions = (await folder.readJson("config.json", ropeFields)) ?? {};
    const contextTokens = await tokenLimit(folder, config, longRopeWindow(positions));
    return served(folder, task, { decoder, config: "config.json", contextTokens });
  },
};

/** Multimodal models of onnx-community: tokens are embedded by a graph of their own. Their text is served. */
export const multimodalDecoder: Layout = {
  lookedFor:
    "onnx/embed_tokens.onnx with onnx/decoder_model_merged.onnx, which takes inputs_embeds",
  async recognise(folder, wishes) {
    const config = await readModelConfig(folder);
    const embedder = folder.findGraph("embed_tokens");
    const decoder = folder.findGraph("decoder_model_merged");
    if (config === undefined || embedder === undefined || decoder === undefined) return undefined;
    const inputs = new Set(folder.outline(decoder).inputs.map(({ name }) => name));
    if (!inputs.has("inputs_embeds") || inputs.has("encoder_hidden_states")) return undefined;
    const task = await taskOf(folder, wishes, config.model_type);
    const contextTokens = await tokenLimit(folder, config);
    const files = { decoder, embedder, config: "config.json", contextTokens };
    const found = await served(folder, task, files);
    const text = "its text alone is served: pictures and sound are not read";
    return { ...found, notes: [...found.notes, { text }] };
  },
};

/** Repositories of GenAI's models keep a config.json above the folders that they are in. */
function isOfGenai(folder: ModelFolder): boolean {
  return (
    folder.matching(/\/genai_config\.json$/).length > 0 &&
    folder.findGraph("model", "decoder_model_merged") === undefined
  );
}

interface DecoderFiles {
  readonly decoder: string;
  readonly embedder?: string;
  readonly config: string;
  readonly contextTokens: number | undefined;
}

async function served(
  folder: ModelFolder,
  task: Task,
  { decoder, embedder, config, contextTokens }: DecoderFiles,
) {
  const files = present({
    decoder,
    "embed-tokens": embedder,
    config,
    "generation-config": folder.find("generation_config.json"),
    ...tokenizerFiles(folder),
    "chat-template": folder.find("chat_template.jinja", "chat_template.json"),
  });
  const limits = known({ contextTokens });
  return {
    ...task,
    pipeline: "decoder-text",
    files,
    concurrency: CONCURRENCY,
    limits,
    notes: task.modality === "chat" ? await templateNotes(folder, files["chat-template"]) : [],
  };
}

const addedTokens = z.object({
  added_tokens: z.array(z.object({ content: z.string(), special: z.boolean() })).default([]),
});

/** What is done in place of the chat template. One that cannot be read fails where it is opened. */
async function templateNotes(folder: ModelFolder, file: string | undefined): Promise<Note[]> {
  const config = (await folder.readJson("tokenizer_config.json", z.unknown())) ?? {};
  const tokenizer = await folder.readJson("tokenizer.json", addedTokens).catch(() => undefined);
  const read = async (path: string) =>
    templateOfFile(path, await readFile(folder.absolute(path), "utf8"));
  const options = file === undefined ? {} : { template: await read(file) };
  try {
    const template = createChatTemplate(config, {
      ...options,
      addedTokens: tokenizer?.added_tokens ?? [],
    });
    if (template.isPlain) return [NO_TEMPLATE];
    return template.hasUnknownCalls ? [UNKNOWN_CALLS] : [];
  } catch {
    return [];
  }
}

const NO_TEMPLATE: Note = {
  text: "it has no chat template: messages are put one below the other, without their roles, as a model that was not taught to chat reads them",
  isWarning: true,
};

const UNKNOWN_CALLS: Note = {
  text: "its chat template has tools, but shows calls in no form that is known: tools are told in words, and calls read as Hermes writes them",
  isWarning: true,
};
