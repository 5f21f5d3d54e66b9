import type { GraphInfo, Tensor, TensorInfo, Tensors } from "../../runtime/tensors/tensor.js";
import type { BatchLimits } from "../../runtime/batching/batch-runner.js";
import type { TokenSequence } from "../tokenizer/sequence-tokenizer.js";

/** Feeds of one run and the shape that they were padded to. */
export interface TokenBatch {
  readonly feeds: Tensors;
  readonly rows: number;
  readonly length: number;
}

/** What a graph over tokens can be given. */
export interface TokenGraph {
  readonly limits: BatchLimits;
  /** Most tokens of a row that the graph was made for; undefined where it takes any number. */
  readonly maxLength: number | undefined;
  /** Padded to the longest, or to `length` tokens. */
  pack(sequences: readonly TokenSequence[], length?: number): TokenBatch;
}

const KNOWN_INPUTS = new Set(["input_ids", "attention_mask", "token_type_ids", "position_ids"]);
/** Caches of decoders that serve as encoders (Qwen3-Embedding): nothing comes before a text. */
const CACHE_INPUT = /^past_key_values\.\d+\.(key|value)$/;

/** Most rows of a batch, whatever their length. */
const MAX_ROWS = 512;
/** A sixteenth of a batch fills the device: more rows take proportionally longer. */
const WORTHWHILE_SHARE = 16;

export interface TokenGraphOptions {
  /** What the graph is called in messages. */
  readonly role: string;
  readonly padId: number;
  /** Most rows × length of a batch. */
  readonly maxPadded: number;
}

/** Reads what the graph declares. Throws where it wants an input that texts do not give. */
export function createTokenGraph(
  { inputs }: GraphInfo,
  { role, padId, maxPadded }: TokenGraphOptions,
): TokenGraph {
  const unknown = inputs.find(({ name }) => !KNOWN_INPUTS.has(name) && !CACHE_INPUT.test(name));
  if (unknown !== undefined)
    throw new Error(
      `the graph ${role} wants the input ${unknown.name}: only ${[...KNOWN_INPUTS].join(", ")} are given`,
    );
  const ids = inputs.find(({ name }) => name === "input_ids");
  if (ids === undefined) throw new Error(`the graph ${role} has no input input_ids`);
  const [fixedRows, fixedLength] = [numberOf(ids.dims[0]), numberOf(ids.dims[1])];
  const hasMask = inputs.some(({ name }) => name === "attention_mask");
  return {
    limits: {
      maxPadded,
      maxRows: fixedRows ?? MAX_ROWS,
      worthwhile: Math.ceil(maxPadded / WORTHWHILE_SHARE),
      equalLengths: !hasMask,
    },
    maxLength: fixedLength,
    pack(sequences, padded = 1) {
      const longest = Math.max(padded, ...sequences.map(({ length }) => length));
      const shape = { rows: fixedRows ?? sequences.length, length: fixedLength ?? longest };
      const packed = inputs.map((input) => [
        input.name,
        packInput(input, { sequences, padId, ...shape }),
      ]);
      return { feeds: Object.fromEntries(packed), ...shape };
    },
  };
}

function numberOf(dimension: number | string | undefined): number | undefined {
  return typeof dimension === "number" && dimension > 0 ? dimension : undefined;
}

interface Packing {
  readonly sequences: readonly TokenSequence[];
  readonly rows: number;
  readonly length: number;
  readonly padId: number;
}

/** [rows, length], padded on the right, in the integer type that the graph declares; a cache is empty. */
function packInput({ name, type, dims: declared }: TensorInfo, packing: Packing): Tensor {
  const { sequences, rows, length, padId } = packing;
  if (CACHE_INPUT.test(name)) return emptyCache(declared, rows);
  const values = new Int32Array(rows * length);
  if (name === "input_ids" && padId !== 0) values.fill(padId);
  if (name === "position_ids") values.fill(1);
  for (const [row, sequence] of sequences.entries()) {
    const at = row * length;
    if (name === "input_ids") values.set(sequence.ids, at);
    else if (name === "attention_mask") values.fill(1, at, at + sequence.length);
    else if (name === "position_ids") fillPositions(values, at, sequence.length);
    else if (sequence.typeIds !== null) values.set(sequence.typeIds, at);
  }
  const dims = [rows, length];
  return type === "int64"
    ? { type, data: widened(values), dims }
    : { type: "int32", data: values, dims };
}

/** [rows, heads, 0, width] where the graph declares names for the first and the third. */
function emptyCache([, ...sides]: TensorInfo["dims"], rows: number): Tensor {
  const dims = [rows, ...sides.map((side) => numberOf(side) ?? 0)];
  return { type: "float32", data: new Float32Array(0), dims };
}

function fillPositions(values: Int32Array, at: number, length: number): void {
  for (let index = 0; index < length; index += 1) values[at + index] = index;
}

/** Int64 of small non-negative numbers, by their lower halves: a `BigInt` for each would cost more than the rest. */
function widened(values: Int32Array): BigInt64Array {
  const wide = new BigInt64Array(values.length);
  const halves = new Int32Array(wide.buffer);
  for (let index = 0; index < values.length; index += 1) halves[index * 2] = values[index] ?? 0;
  return wide;
}
