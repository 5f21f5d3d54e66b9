import type { GraphInfo, TensorInfo, TensorType } from "../../runtime/tensors/tensor.js";
import type { TensorNames } from "./settings.js";

/** One tensor of a decoder's memory: read as `past`, written as `present`. */
export interface CacheTensor {
  readonly past: string;
  readonly present: string;
  readonly type: TensorType;
  /** Numbers are fixed; `batch` and `length` stand for the row and token axes. */
  readonly dims: readonly (number | "batch" | "length")[];
  /** Axis of rows. */
  readonly batchAxis: number;
  /** Axis of tokens; null for states of one size (convolutions, recurrences). */
  readonly lengthAxis: number | null;
  /**
   * Whether a run may write into the memory that it reads, which has room for more tokens than there are:
   * ONNX Runtime's GroupQueryAttention does so.
   */
  readonly sharesBuffer: boolean;
  /** Tokens that a shared buffer has room for at least: of GenAI's layers that see a window of the last ones. */
  readonly leastRoom?: number;
}

/** An input or output of known rank. */
export interface RankedTensor {
  readonly name: string;
  readonly type: TensorType;
  readonly rank: number;
}

/** Which tensor of a decoder-only graph plays which part (onnx-layouts.md, §1). */
export interface DecoderLayout {
  /** Of the graph that embeds tokens, where that is one of its own. */
  readonly inputIds: RankedTensor;
  /** What such a graph makes of tokens, as the decoder's inputs: `inputs_embeds`, and in Gemma 3n more. */
  readonly embedded?: readonly string[];
  readonly attentionMask: RankedTensor | undefined;
  readonly positionIds: RankedTensor | undefined;
  readonly tokenTypes: RankedTensor | undefined;
  /** Number of last positions to make logits for; 1 is asked. */
  readonly logitsToKeep: RankedTensor | undefined;
  /** Tells an old merged graph that the caches hold something. */
  readonly useCacheBranch: string | undefined;
  readonly logits: RankedTensor;
  readonly vocabSize: number | undefined;
  readonly caches: readonly CacheTensor[];
}

/** Longest beginnings first: `present_conv` is not `present`. */
const PRESENT_TO_PAST: readonly (readonly [string, string])[] = [
  ["present_recurrent", "past_recurrent"],
  ["present_conv", "past_conv"],
  ["present_ssm", "past_ssm"],
  ["present_", "past_"],
  ["present", "past_key_values"],
];

interface LayoutHints {
  /** What a cache's last axis holds where the graph leaves it free, as GenAI's builder does. */
  readonly headSize?: number | undefined;
  /** Tokens that layers of GenAI see whose caches have a length of their own. */
  readonly slidingWindow?: number | undefined;
  /** The graph that embeds tokens for this one. */
  readonly embedder?: GraphInfo | undefined;
}

/** Throws an error that names the input it does not know or the output it misses. */
export function readDecoderLayout(
  graph: GraphInfo,
  names: TensorNames,
  hints: LayoutHints = {},
): DecoderLayout {
  const { embedder } = hints;
  const find = (inputs: readonly TensorInfo[], role: string, others: readonly string[]) => {
    const known = new Set([names.inputs[role], role, ...others]);
    const found = inputs.find(({ name }) => known.has(name));
    return found && { name: found.name, type: found.type, rank: found.dims.length };
  };
  const input = (role: string, ...others: string[]) => find(graph.inputs, role, others);
  const inputIds = find((embedder ?? graph).inputs, "input_ids", ["tokens"]);
  if (inputIds === undefined) throw new Error("a decoder needs the input input_ids");
  const logits = graph.outputs.find(({ name }) => name === logitsName(names));
  if (logits === undefined) throw new Error("a decoder needs the output logits");
  const vocabSize = logits.dims.at(-1);
  const made = new Set(embedder?.outputs.map(({ name }) => name));
  const embedded = graph.inputs.flatMap(({ name }) => (made.has(name) ? [name] : []));
  const layout = {
    inputIds,
    ...(embedder && { embedded }),
    attentionMask: input("attention_mask"),
    positionIds: input("position_ids"),
    tokenTypes: input("token_type_ids"),
    logitsToKeep: input("num_logits_to_keep", "logits_to_keep"),
    useCacheBranch: input("use_cache_branch")?.name,
    logits: { name: logits.name, type: logits.type, rank: logits.dims.length },
    vocabSize: typeof vocabSize === "number" && vocabSize > 0 ? vocabSize : undefined,
    caches: pairCaches(graph, cacheNames(names), hints),
  };
  refuseUnknownInputs(graph, layout);
  return layout;
}

/** Throws where nothing that a graph has read could be remembered for the next token. */
export function requireCaches({ caches }: DecoderLayout): void {
  if (caches.length > 0) return;
  throw new Error("a decoder needs caches (past_key_values.0.key and so on): export it with past");
}

export function logitsName({ outputs }: TensorNames): string {
  return outputs["logits"] ?? "logits";
}

/** Present name → past name of the configuration's templates, with `%d` still in both. */
function cacheNames({ inputs, outputs }: TensorNames): (readonly [string, string])[] {
  return Object.entries(outputs).flatMap(([role, present]) => {
    const past = inputs[role.replace(/^present/, "past")];
    return role.startsWith("present") && past !== undefined ? [[present, past] as const] : [];
  });
}

function pairCaches(
  graph: GraphInfo,
  templates: readonly (readonly [string, string])[],
  hints: LayoutHints,
): CacheTensor[] {
  const inputs = new Map(graph.inputs.map((input) => [input.name, input]));
  return graph.outputs.flatMap((output) => {
    const candidates = [...pastByTemplate(output.name, templates), ...pastByPrefix(output.name)];
    const past = candidates.map((name) => inputs.get(name)).find((found) => found !== undefined);
    return past === undefined ? [] : [describeCache(past, output, hints)];
  });
}

function pastByTemplate(name: string, templates: readonly (readonly [string, string])[]): string[] {
  return templates.flatMap(([present, past]) => {
    const [before = "", after = ""] = present.split("%d");
    const layer = name.slice(before.length, name.length - after.length);
    const isOurs = name.startsWith(before) && name.endsWith(after) && /^\d+$/.test(layer);
    return isOurs ? [past.replace("%d", layer)] : [];
  });
}

function pastByPrefix(name: string): string[] {
  return PRESENT_TO_PAST.filter(([present]) => name.startsWith(present)).map(
    ([present, past]) => past + name.slice(present.length),
  );
}

/** Which axes grow is read from the declared dimensions: fixed ones are numbers. */
function describeCache(
  past: TensorInfo,
  present: TensorInfo,
  { headSize, slidingWindow }: LayoutHints,
): CacheTensor {
  const declared = fixHead(past.dims, headSize);
  const free = freeAxes(declared);
  const batchAxis = free.find((axis) => /batch/i.test(String(declared[axis]))) ?? free[0];
  const lengthAxis = free.find((axis) => axis !== batchAxis) ?? null;
  if (batchAxis === undefined || free.length > 2)
    throw new Error(
      `the cache ${past.name} [${past.dims.join(", ")}] must have a free axis for rows and at most one more`,
    );
  const dims = declared.map((dim, axis) => {
    if (axis === batchAxis) return "batch";
    return axis === lengthAxis ? "length" : Number(dim);
  });
  const isWindow = lengthAxis !== null && declared[lengthAxis] === "past_sliding_length";
  return {
    past: past.name,
    present: present.name,
    type: past.type,
    dims,
    batchAxis,
    lengthAxis,
    sharesBuffer: false,
    ...(isWindow && slidingWindow !== undefined && { leastRoom: slidingWindow }),
  };
}

/** Rows and tokens may be free; a third free axis that is the last is a head's. */
function fixHead(dims: TensorInfo["dims"], headSize: number | undefined): TensorInfo["dims"] {
  const free = freeAxes(dims);
  const last = dims.length - 1;
  const isHeadFree = free.length === 3 && free.at(-1) === last;
  return isHeadFree && headSize !== undefined ? dims.with(last, headSize) : dims;
}

function freeAxes(dims: TensorInfo["dims"]): number[] {
  return dims.flatMap((dim, axis) => (typeof dim === "string" || dim < 0 ? [axis] : []));
}

function refuseUnknownInputs(graph: GraphInfo, layout: DecoderLayout): void {
  const { inputIds, attentionMask, positionIds, tokenTypes, logitsToKeep } = layout;
  const parts = [inputIds, attentionMask, positionIds, tokenTypes, logitsToKeep];
  const fed = new Set<string | undefined>([
    ...parts.map((part) => part?.name),
    layout.useCacheBranch,
    ...(layout.embedded ?? []),
    ...layout.caches.map(({ past }) => past),
  ]);
  const unknown = graph.inputs.find(({ name }) => !fed.has(name));
  if (unknown !== undefined)
    throw new Error(`the decoder's input ${unknown.name} is none that a text engine can fill`);
  if (attentionMask !== undefined && attentionMask.rank !== 2)
    throw new Error(`attention_mask must be [rows, tokens], has ${attentionMask.rank} axes`);
}
