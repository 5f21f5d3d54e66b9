import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { ModelConfig, Note } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { parsePooling, type Pooling } from "./settings.js";

/** What `--pooling` may be. */
const WISHED = ["mean", "cls", "last"] as const;

/** How a package pools, and what said so. */
interface PoolingChoice {
  readonly pooling: Pooling;
  readonly from: "option" | "file" | "family" | "card" | "assumed";
  readonly note: Note;
}

interface PoolingSigns {
  readonly config: ModelConfig;
  /** Inputs of the graph. */
  readonly inputs: readonly string[];
  /** `--pooling`. */
  readonly wished: string | undefined;
}

const FILE = "1_Pooling/config.json";
const STATE_IT = `say so with --pooling ${WISHED.join(", ")}`;

/**
 * The pooling that the caller, 1_Pooling, the family or the card states, in this order; the mean, with a
 * warning, where none of them does. A family stands before a card: cards of copies show `pooling: 'mean'`
 * for models that were trained on their first token.
 */
export async function choosePooling(
  folder: ModelFolder,
  signs: PoolingSigns,
): Promise<PoolingChoice> {
  if (signs.wished !== undefined) {
    const pooling = parseWish(signs.wished);
    return { pooling, from: "option", note: { text: `pooling ${pooling}, by --pooling` } };
  }
  const stated = await folder.readJson(FILE, z.unknown());
  if (stated !== undefined) {
    const pooling = parsePooling(stated, `${folder.name}/${FILE}`);
    return { pooling, from: "file", note: { text: `pooling ${pooling}, by ${FILE}` } };
  }
  const card = await readCard(folder);
  const ofCard = poolingOfCard(card);
  const family = findFamily(folder, card, signs);
  if (family !== undefined) return { ...family, from: "family", note: noteOf(family, ofCard) };
  if (ofCard !== undefined)
    return { pooling: ofCard, from: "card", note: { text: `pooling ${ofCard}, by the card` } };
  const text = `no file, card or known family says how tokens become a vector: pooling mean is assumed, and vectors are wrong where the model was trained on another; ${STATE_IT}`;
  return { pooling: "mean", from: "assumed", note: { text, isWarning: true } };
}

function parseWish(wished: string): Pooling {
  const found = WISHED.find((word) => word === wished);
  if (found !== undefined) return found;
  throw new Error(`--pooling must be one of ${WISHED.join(", ")}, got ${wished}`);
}

interface Family {
  readonly pooling: Pooling;
  /** For people. */
  readonly name: string;
}

function noteOf({ pooling, name }: Family, ofCard: Pooling | undefined): Note {
  const text = `pooling ${pooling}, by its family (${name})`;
  if (ofCard === undefined || ofCard === pooling) return { text };
  return {
    text: `${text}; its card says ${ofCard}: where that is right, ${STATE_IT}`,
    isWarning: true,
  };
}

/** Architectures that read from left to right, whose last token alone has seen the whole text. */
const CAUSAL_TYPES =
  /^(qwen[23]|mistral|llama|gemma|phi|gpt|opt$|bloom|olmo|starcoder|granite$|falcon|stablelm|smollm)/;

export function isCausalType(modelType: string): boolean {
  return CAUSAL_TYPES.test(modelType);
}

const CAUSAL_ARCHITECTURE = /(ForCausalLM|LMHeadModel)$/;

/** Published families by their names (their own 1_Pooling and cards); `types` narrows to a model_type. */
const FAMILIES: readonly (Family & { readonly names: RegExp; readonly types?: RegExp })[] = [
  { name: "bge", pooling: "cls", names: /bge-(small|base|large|m3)/ },
  { name: "gte of BERT", pooling: "mean", names: /gte-(tiny|small|base|large)/, types: /^bert$/ },
  { name: "gte", pooling: "cls", names: /gte-(base|large|multilingual|modernbert)/ },
  { name: "snowflake-arctic-embed", pooling: "cls", names: /snowflake-arctic-embed/ },
  { name: "mxbai-embed-large", pooling: "cls", names: /mxbai-embed-(2d-)?large/ },
  { name: "granite-embedding", pooling: "cls", names: /granite-embedding/ },
  { name: "UAE", pooling: "cls", names: /uae-large/ },
  { name: "e5", pooling: "mean", names: /e5-(small|base|large)/ },
  {
    name: "sentence-transformers",
    pooling: "mean",
    names: /(all|paraphrase)-(multilingual-)?(minilm|mpnet|distilroberta|albert)/,
  },
  { name: "multi-qa, cosine", pooling: "mean", names: /multi-qa-[\w-]+-cos-/ },
  { name: "nomic-embed-text", pooling: "mean", names: /nomic-embed-text|modernbert-embed/ },
  { name: "jina-embeddings", pooling: "mean", names: /jina-embeddings-v[23]/ },
  { name: "EmbeddingGemma", pooling: "mean", names: /embeddinggemma/ },
];

function findFamily(
  folder: ModelFolder,
  card: string,
  { config, inputs }: PoolingSigns,
): Family | undefined {
  const type = config.model_type ?? "";
  const [architecture = ""] = config.architectures ?? [];
  const isCausal =
    isCausalType(type) ||
    CAUSAL_ARCHITECTURE.test(architecture) ||
    inputs.some((name) => name.startsWith("past_key_values"));
  const seesBothWays = Boolean(config.use_bidirectional_attention) || config.is_causal === false;
  if (isCausal && !seesBothWays)
    return { pooling: "last", name: `a decoder, ${architecture || type}` };
  for (const name of namesOf(folder, card, config)) {
    const found = FAMILIES.find(
      ({ names, types }) => isNamed(name, names) && (types?.test(type) ?? true),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a family's name begins a word. */
function isNamed(name: string, names: RegExp): boolean {
  return new RegExp(String.raw`(^|[^a-z0-9])(${names.source})`).test(name.toLowerCase());
}

/** What the model may be called by: what is nearest to it comes first, what it was made from last. */
function namesOf(folder: ModelFolder, card: string, config: ModelConfig): string[] {
  const [, title = ""] = /^#\s+(.+)$/m.exec(card) ?? [];
  const [, base = ""] = /^base_model:\s*(?:-\s*)?(\S+)\s*$/m.exec(card) ?? [];
  const { _name_or_path: origin } = config;
  return [folder.name, title, base, origin ?? ""];
}

async function readCard(folder: ModelFolder): Promise<string> {
  return folder.has("README.md") ? readFile(folder.absolute("README.md"), "utf8") : "";
}

const CARD_WORDS: Readonly<Record<string, Pooling>> = {
  cls: "cls",
  cls_token: "cls",
  mean: "mean",
  mean_tokens: "mean",
  last: "last",
  last_token: "last",
  lasttoken: "last",
};

/** Code and printed settings, then prose; each only where it says one thing. */
const CARD_PATTERNS: readonly RegExp[] = [
  /["']?\bpooling(?:_mode|_strategy)?["']?\s*[:=]\s*["'](cls|mean|last_token|lasttoken|last)["']/gi,
  /["']?\bpooling_mode_(cls_token|mean_tokens|lasttoken)["']?\s*[:=]\s*true/gi,
  /\b(cls|mean|last[- ]token)[- ]pooling\b/gi,
];

/** Undefined where the card says nothing, or several things. */
function poolingOfCard(card: string): Pooling | undefined {
  for (const pattern of CARD_PATTERNS) {
    const words = [...card.matchAll(pattern)].map(([, word = ""]) => word.toLowerCase());
    const found = new Set(words.map((word) => CARD_WORDS[word.replaceAll(/[- ]/g, "_")]));
    const [pooling] = found;
    if (found.size > 0) return found.size === 1 ? pooling : undefined;
  }
  return undefined;
}
