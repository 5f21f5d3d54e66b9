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
}

/** An input that is filled with integers. */
export interface IndexInput {
  readonly name: string;
  readonly type: TensorType;
  readonly rank: number;
}

/** Which tensor of a decoder-only graph plays which part (onnx-layouts.md, §1). */
export interface DecoderLayout {
  readonly inputIds: IndexInput;
  readonly attentionMask: IndexInput | undefined;
  readonly positionIds: IndexInput | undefined;
  readonly tokenTypes: IndexInput | undefined;
  /** Number of last positions to make logits for; 1 is asked. */
  readonly logitsToKeep: IndexInput | undefined;
  /** Tells an old merged graph that the caches hold something. */
  readonly useCacheBranch: string | undefined;
  readonly logits: string;
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

/** Throws an error that names the input it does not know or the output it misses. */
export function readDecoderLayout(graph: GraphInfo, names: TensorNames): DecoderLayout {
  const input = (role: string, ...others: string[]) => {
    const known = new Set([names.inputs[role], role, ...others]);
    const found = graph.inputs.find(({ name }) => known.has(name));
    return found && { name: found.name, type: found.type, rank: found.dims.length };
  };
  const inputIds = input("input_ids", "tokens");
  if (inputIds === undefined) throw new Error("a decoder needs the input input_ids");
  const logits = graph.outputs.find(({ name }) => name === (names.outputs["logits"] ?? "logits"));
  if (logits === undefined) throw new Error("a decoder needs the output logits");
  const vocabSize = logits.dims.at(-1);
  const layout = {
    inputIds,
    attentionMask: input("attention_mask"),
    positionIds: input("position_ids"),
    tokenTypes: input("token_type_ids"),
    logitsToKeep: input("num_logits_to_keep", "logits_to_keep"),
    useCacheBranch: input("use_cache_branch")?.name,
    logits: logits.name,
    vocabSize: typeof vocabSize === "number" && vocabSize > 0 ? vocabSize : undefined,
    caches: pairCaches(graph, cacheNames(names)),
  };
  refuseUnknownInputs(graph, layout);
  return layout;
}

/** How the names of the outputs begin that are read again as caches. */
export function cacheBeginnings(names: TensorNames): string[] {
  const templates = cacheNames(names).map(([present]) => present.split("%d")[0] ?? present);
  return ["present", ...templates.filter((start) => start !== "")];
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
): CacheTensor[] {
  const inputs = new Map(graph.inputs.map((input) => [input.name, input]));
  return graph.outputs.flatMap((output) => {
    const candidates = [...pastByTemplate(output.name, templates), ...pastByPrefix(output.name)];
    const past = candidates.map((name) => inputs.get(name)).find((found) => found !== undefined);
    return past === undefined ? [] : [describeCache(past, output)];
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
function describeCache(past: TensorInfo, present: TensorInfo): CacheTensor {
  const free = past.dims.flatMap((dim, axis) => (isFree(dim) ? [axis] : []));
  const batchAxis = free.find((axis) => /batch/i.test(String(past.dims[axis]))) ?? free[0];
  const lengthAxis = free.find((axis) => axis !== batchAxis) ?? null;
  if (batchAxis === undefined || free.length > 2)
    throw new Error(
      `the cache ${past.name} [${past.dims.join(", ")}] must have a free axis for rows and at most one more`,
    );
  const dims = past.dims.map((dim, axis) => {
    if (axis === batchAxis) return "batch";
    return axis === lengthAxis ? "length" : Number(dim);
  });
  return { past: past.name, present: present.name, type: past.type, dims, batchAxis, lengthAxis };
}

function isFree(dim: number | string): boolean {
  return typeof dim === "string" || dim < 0;
}

function refuseUnknownInputs(graph: GraphInfo, layout: DecoderLayout): void {
  const { inputIds, attentionMask, positionIds, tokenTypes, logitsToKeep } = layout;
  const parts = [inputIds, attentionMask, positionIds, tokenTypes, logitsToKeep];
  const fed = new Set<string | undefined>([
    ...parts.map((part) => part?.name),
    layout.useCacheBranch,
    ...layout.caches.map(({ past }) => past),
  ]);
  const unknown = graph.inputs.find(({ name }) => !fed.has(name));
  if (unknown !== undefined)
    throw new Error(`the decoder's input ${unknown.name} is none that a text engine can fill`);
  if (layout.caches.length === 0)
    throw new Error(
      "a decoder needs caches (past_key_values.0.key and so on): export it with past",
    );
  if (attentionMask !== undefined && attentionMask.rank !== 2)
    throw new Error(`attention_mask must be [rows, tokens], has ${attentionMask.rank} axes`);
}
