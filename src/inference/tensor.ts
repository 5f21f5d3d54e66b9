/** Element types that cross our graphs. */
export type TensorData = Float32Array | BigInt64Array | Int32Array | Uint8Array;

/** A dense row-major array. `dims` multiply to `data.length`. */
export interface Tensor {
  readonly type: "float32" | "int64" | "int32" | "uint8";
  readonly data: TensorData;
  readonly dims: readonly number[];
}

export type Tensors = Readonly<Record<string, Tensor>>;

export function float32(data: Float32Array, dims: readonly number[]): Tensor {
  return { type: "float32", data, dims };
}

export function int64(data: BigInt64Array, dims: readonly number[]): Tensor {
  return { type: "int64", data, dims };
}

export function uint8(data: Uint8Array, dims: readonly number[]): Tensor {
  return { type: "uint8", data, dims };
}

/** The float32 values of a graph's output. Throws where it is missing or of another type. */
export function floatsOf(outputs: Tensors, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (data instanceof Float32Array) return data;
  throw new TypeError(`output ${name} must be float32, got ${outputs[name]?.type ?? "nothing"}`);
}

/** The uint8 values of a graph's output. Throws where it is missing or of another type. */
export function bytesOf(outputs: Tensors, name: string): Uint8Array {
  const data = outputs[name]?.data;
  if (data instanceof Uint8Array) return data;
  throw new TypeError(`output ${name} must be uint8, got ${outputs[name]?.type ?? "nothing"}`);
}
