/** Element types of graphs' inputs and outputs. Halves travel as their bits in a `Uint16Array`. */
export type TensorType =
  | "float32"
  | "float16"
  | "float64"
  | "int64"
  | "int32"
  | "int16"
  | "int8"
  | "uint64"
  | "uint32"
  | "uint16"
  | "uint8"
  | "bfloat16"
  | "bool";

export type TensorData =
  | Float32Array
  | Float64Array
  | Uint16Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Int8Array
  | Uint8Array;

/** The array that holds elements of each type. */
export const DATA = {
  float32: Float32Array,
  float16: Uint16Array,
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint64: BigUint64Array,
  uint32: Uint32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
  bfloat16: Uint16Array,
  bool: Uint8Array,
} as const satisfies Record<TensorType, object>;

/** A dense row-major array. `dims` multiply to `data.length`; `[]` is a scalar. */
export interface Tensor {
  readonly type: TensorType;
  readonly data: TensorData;
  readonly dims: readonly number[];
}

/** Elements of an array of these dimensions. */
export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

/** [rows, columns] as [columns, rows]. */
export function transpose(values: Float32Array, rows: number): Float32Array {
  const columns = values.length / rows;
  const turned = new Float32Array(values.length);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      turned[column * rows + row] = values[row * columns + column] ?? 0;
  return turned;
}

export type Tensors = Readonly<Record<string, Tensor>>;

/** What a graph declares of one input or output; a dimension is a number or the name of a free one. */
export interface TensorInfo {
  readonly name: string;
  readonly type: TensorType;
  readonly dims: readonly (number | string)[];
}

export interface GraphInfo {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

export function float32(data: Float32Array, dims: readonly number[]): Tensor {
  return { type: "float32", data, dims };
}

export function int64(data: BigInt64Array, dims: readonly number[]): Tensor {
  return { type: "int64", data, dims };
}

/** Int64 values from numbers, e.g. token ids. */
export function int64Of(values: Iterable<number>, dims: readonly number[]): Tensor {
  return int64(BigInt64Array.from([...values], BigInt), dims);
}

export function uint8(data: Uint8Array, dims: readonly number[]): Tensor {
  return { type: "uint8", data, dims };
}

export function bool(values: readonly boolean[], dims: readonly number[]): Tensor {
  return { type: "bool", data: Uint8Array.from(values, Number), dims };
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

/** One array of several, in order; the only one itself. */
export function concatFloats(parts: readonly Float32Array[]): Float32Array {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    joined.set(part, start);
    start += part.length;
  }
  return joined;
}

/** The tensor in the element type that a graph declares; values are converted one by one. */
export function castTensor(tensor: Tensor, type: TensorType): Tensor {
  if (tensor.type === type) return tensor;
  return { type, data: castData(tensor, type), dims: tensor.dims };
}

function castData(tensor: Tensor, type: TensorType): TensorData {
  if (type === "float16") return toHalves(numbersOf(tensor));
  const source = numbersOf(tensor);
  if (type === "float32") return Float32Array.from(source);
  if (type === "float64") return Float64Array.from(source);
  if (type === "int64") return BigInt64Array.from(source, (value) => BigInt(Math.trunc(value)));
  if (type === "int32") return Int32Array.from(source);
  if (type === "int8") return Int8Array.from(source);
  if (type === "bool") return Uint8Array.from(source, (value) => (value === 0 ? 0 : 1));
  return Uint8Array.from(source);
}

function numbersOf({ type, data }: Tensor): ArrayLike<number> {
  if (type === "float16" && data instanceof Uint16Array) return fromHalves(data);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array)
    return Float64Array.from(data, Number);
  return data;
}

const scratch = new DataView(new ArrayBuffer(4));

/** IEEE 754 binary16 bits of each value, rounded to nearest even. */
function toHalves(values: ArrayLike<number>): Uint16Array {
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index += 1) halves[index] = toHalf(values[index] ?? 0);
  return halves;
}

function toHalf(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude >= 0x7f80_0000) return sign | (magnitude > 0x7f80_0000 ? 0x7e00 : 0x7c00);
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  if (magnitude < 0x3880_0000) {
    // Below the smallest normal half: a multiple of 2^-24.
    scratch.setUint32(0, magnitude);
    return sign | roundToEven(scratch.getFloat32(0) * 2 ** 24);
  }
  const rebased = magnitude - 0x3800_0000;
  return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

let halfValues: Float32Array | undefined;

/** Values of IEEE 754 binary16 bits, through a table of all 65 536. */
export function fromHalves(halves: Uint16Array): Float32Array {
  halfValues ??= Float32Array.from({ length: 65_536 }, (_, bits) => fromHalf(bits));
  const values = new Float32Array(halves.length);
  for (let index = 0; index < halves.length; index += 1)
    values[index] = halfValues[halves[index] ?? 0] ?? 0;
  return values;
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1_024) * 2 ** (exponent - 15);
}
