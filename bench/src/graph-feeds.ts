import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gaussianNoise } from "../../src/models/sampling/noise.js";
import {
  castTensor,
  float32,
  type GraphInfo,
  type Tensor,
  type TensorData,
} from "../../src/runtime/tensors/tensor.js";
import type { TensorInfo, TensorType } from "../../src/runtime/tensors/tensor.js";

export interface FeedOptions {
  /** Name → size of each free dimension. */
  readonly dims: Readonly<Record<string, number>>;
  /** Folder of `<input>.bin` files: values row by row, little-endian, in the input's own type. */
  readonly feedsPath?: string;
  readonly seed: number;
}

/** A tensor for each input: from its file, else Gaussian floats of a seed and integers of 1. */
export async function makeFeeds(
  { inputs }: GraphInfo,
  options: FeedOptions,
): Promise<Readonly<Record<string, Tensor>>> {
  const entries = inputs.map(async (input, index) => {
    const dims = resolveDims(input, options.dims);
    const { feedsPath, seed } = options;
    const tensor =
      feedsPath === undefined
        ? makeFeed(input.type, dims, seed + index)
        : await readFeed(join(feedsPath, `${input.name}.bin`), input.type, dims);
    return [input.name, tensor] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Throws a sentence that names the free dimension that has no size. */
function resolveDims(
  { name, dims }: TensorInfo,
  sizes: Readonly<Record<string, number>>,
): number[] {
  return dims.map((dim) => {
    const size = typeof dim === "number" && dim >= 0 ? dim : sizes[dim];
    if (size !== undefined) return size;
    throw new Error(`the input ${name} has the free dimension ${dim}: give --dims ${dim}=SIZE`);
  });
}

function makeFeed(type: TensorType, dims: readonly number[], seed: number): Tensor {
  const isFloat = type.startsWith("float");
  const values = isFloat
    ? gaussianNoise(seed, lengthOf(dims))
    : new Float32Array(lengthOf(dims)).fill(1);
  return castTensor(float32(values, dims), type);
}

async function readFeed(path: string, type: TensorType, dims: readonly number[]): Promise<Tensor> {
  const bytes = await readFile(path);
  const data = VIEWS[type](Uint8Array.from(bytes).buffer);
  if (data.length === lengthOf(dims)) return { type, data, dims };
  throw new Error(
    `${path} holds ${data.length} values of ${type}, the graph takes [${dims.join(", ")}]`,
  );
}

const VIEWS: Readonly<Record<TensorType, (buffer: ArrayBuffer) => TensorData>> = {
  float32: (buffer) => new Float32Array(buffer),
  float64: (buffer) => new Float64Array(buffer),
  float16: (buffer) => new Uint16Array(buffer),
  int64: (buffer) => new BigInt64Array(buffer),
  int32: (buffer) => new Int32Array(buffer),
  int8: (buffer) => new Int8Array(buffer),
  uint8: (buffer) => new Uint8Array(buffer),
  bool: (buffer) => new Uint8Array(buffer),
};

function lengthOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}
