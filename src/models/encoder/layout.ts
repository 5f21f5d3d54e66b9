import { z } from "zod";
import {
  EMBEDDING_OUTPUTS,
  known,
  type Layout,
  type LayoutWishes,
  type ModelConfig,
  type Note,
  modulesList,
  POOLED_OUTPUTS,
  present,
  readModelConfig,
  requireGraph,
  TEXT_CONCURRENCY,
  tokenizerFiles,
  tokenLimit,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { QWEN3_RERANKER } from "../reranking/qwen3-prompt.js";
import { choosePooling, isCausalType } from "./choose-pooling.js";
import { readPrompts } from "./prompts.js";

const sentenceConfig = z.object({ max_seq_length: z.number().nullish() });

/** Text encoders with one graph: embeddings, pair scores or labels. */
export const encoder: Layout = {
  lookedFor:
    "config.json of a text encoder (…Model, …ForMaskedLM, …ForSequenceClassification) with onnx/model.onnx",
  async recognise(folder, wishes) {
    const config = await readModelConfig(folder);
    if (config === undefined) return undefined;
    const modules = await folder.readJson("modules.json", modulesList);
    const modality = modalityOf(folder, config, { wishes, isSentenceModel: modules !== undefined });
    if (modality === undefined) return undefined;
    const graph = requireGraph(folder, "model", "encoder_model");
    const sentence = await folder.readJson("sentence_bert_config.json", sentenceConfig);
    const contextTokens = await tokenLimit(folder, config, sentence?.max_seq_length);
    const files = { encoder: graph, config: "config.json", ...tokenizerFiles(folder) };
    const found = {
      modality,
      pipeline: "encoder",
      files: present(files),
      concurrency: TEXT_CONCURRENCY,
      limits: known({ contextTokens }),
    };
    if (modality === "rerank") return { ...found, ...promptFormOf(folder, config) };
    if (modality !== "embeddings") return found;
    const dimensions = dimensionsOf(folder, graph, config);
    const { note, ...pooling } = await poolingOf(folder, { graph, config, wishes });
    return {
      ...found,
      files: present({ ...files, ...poolingFiles(folder, graph, modules ?? []) }),
      shapes: { ...known({ dimensions }), ...pooling, ...(await readPrompts(folder)) },
      notes: [note],
    };
  },
};

/** Causal models with a score in place of a vocabulary were taught a form of question as the others were. */
function promptFormOf({ name }: ModelFolder, { model_type: type }: ModelConfig) {
  if (type === "qwen3") return { shapes: { promptForm: QWEN3_RERANKER } };
  if (!isCausalType(type ?? "")) return {};
  const text = `${name} is a ${type}, which reads from left to right: query and document are joined as its tokenizer joins pairs, and scores are wrong where it was taught another form`;
  return { notes: [{ text, isWarning: true as const }] };
}

/** Fields of `shapes`, and what is said of them. */
async function poolingOf(
  folder: ModelFolder,
  { graph, config, wishes }: { graph: string; config: ModelConfig; wishes: LayoutWishes },
): Promise<{ note: Note; pooling?: string; poolingFrom?: string }> {
  const { inputs, outputs } = folder.outline(graph);
  const pooled = outputs.find(({ name }) => POOLED_OUTPUTS.has(name))?.name;
  if (pooled === undefined) {
    const names = inputs.map(({ name }) => name);
    const signs = { config, inputs: names, wished: wishes.pooling };
    const { pooling, from, note } = await choosePooling(folder, signs);
    return { note, pooling, poolingFrom: from };
  }
  if (wishes.pooling !== undefined)
    throw new Error(
      `--pooling ${wishes.pooling} cannot be met: ${graph} pools already, in its output ${pooled}`,
    );
  return { note: { text: `pooled by its graph (${pooled})` } };
}

const TEXT_MODALITIES = new Set(["embeddings", "rerank", "moderation"]);
/** Names that a two-label pair scorer gives its labels, as opposed to a classifier of texts. */
const PAIR_LABEL = /^(label_\d|yes|no|true|false|(not_|ir)?relevant)$/i;

interface Signs {
  readonly wishes: LayoutWishes;
  readonly isSentenceModel: boolean;
}

function modalityOf(
  folder: ModelFolder,
  config: ModelConfig,
  { wishes, isSentenceModel }: Signs,
): string | undefined {
  const [architecture = ""] = config.architectures ?? [];
  if (wishes.modality !== undefined && TEXT_MODALITIES.has(wishes.modality)) return wishes.modality;
  if (architecture.endsWith("ForSequenceClassification")) return classifierModality(config);
  if (isSentenceModel) return "embeddings";
  if (!/(Model|ForMaskedLM|ForCausalLM|LMHeadModel)$/.test(architecture)) return undefined;
  const graph = folder.findGraph("model", "encoder_model");
  const outputs = graph === undefined ? [] : folder.outline(graph).outputs.map(({ name }) => name);
  return outputs.some((name) => EMBEDDING_OUTPUTS.has(name)) ? "embeddings" : undefined;
}

/** One score is a reranker's, several labels a classifier's; transformers' default is two labels. */
function classifierModality({ id2label, num_labels, problem_type }: ModelConfig): string {
  const labels = Object.values(id2label ?? {});
  const count = labels.length || (num_labels ?? 2);
  if (count === 1) return "rerank";
  if (count > 2 || problem_type === "multi_label_classification") return "moderation";
  return labels.every((label) => PAIR_LABEL.test(label)) ? "rerank" : "moderation";
}

function poolingFiles(folder: ModelFolder, graph: string, modules: z.infer<typeof modulesList>) {
  const dense = modules.find(({ type }) => /\.(Dense|LSTM|CNN)$/.test(type));
  const isPooled = folder.outline(graph).outputs.some(({ name }) => name === "sentence_embedding");
  if (dense !== undefined && !isPooled)
    throw new Error(
      `${folder.name}/modules.json names ${dense.type}, which ${graph} does not hold: export it with its sentence_embedding output (optimum-cli, library sentence-transformers)`,
    );
  return {
    "pooling-config": folder.find("1_Pooling/config.json"),
    modules: folder.find("modules.json"),
    "sentence-config": folder.find("sentence_bert_config.json"),
  };
}

function dimensionsOf(folder: ModelFolder, graph: string, config: ModelConfig): number | undefined {
  const { outputs } = folder.outline(graph);
  const output = [...EMBEDDING_OUTPUTS]
    .map((name) => outputs.find((candidate) => candidate.name === name))
    .find((candidate) => candidate !== undefined);
  const last = output?.dims.at(-1);
  if (typeof last === "number" && last > 0) return last;
  return config.hidden_size ?? config.dim ?? config.d_model ?? undefined;
}
