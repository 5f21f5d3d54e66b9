import koffi from "koffi";
import {
  DATA,
  elementCount,
  type Tensor,
  type TensorData,
  type TensorType,
} from "../tensors/tensor.js";
import { check, create, ort, type Pointer } from "./api.js";
import type { HostMemory } from "./host-memory.js";

/** ONNX's numbers of element types (TensorProto.DataType). */
const NUMBERS: Readonly<Record<TensorType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};

/** Names of some of the others. */
const UNREAD: Readonly<Record<number, string>> = {
  8: "string",
  14: "complex64",
  15: "complex128",
  17: "float8e4m3fn",
  19: "float8e5m2",
  21: "uint4",
  22: "int4",
};

/** Type and dims of a tensor, without its numbers. */
export type Shape = Omit<Tensor, "data">;

export function byteLengthOf({ type, dims }: Shape): number {
  return elementCount(dims) * DATA[type].BYTES_PER_ELEMENT;
}

/** The name that ONNX Runtime gives to memory of this machine's processors. */
const HOST = "Cpu";

let open = 0;

/** Values that nobody has closed yet. */
export function openValues(): number {
  return open;
}

/** An array whose address is in use: the garbage collector sees no addresses. */
let lent: TensorData | undefined;

/**
 * One OrtValue: a tensor in the memory of the device that its graphs run on, or of this process, until it
 * is closed. A run that uses it holds it: closing takes effect when the run has ended.
 */
export class Value {
  readonly type: TensorType;
  readonly dims: readonly number[];
  /** Name of its memory, e.g. `Cpu`, `Cuda`. */
  readonly place: string;
  readonly #pointer: Pointer;
  /** Memory of JavaScript's own that it lies in. */
  readonly #data: TensorData | undefined;
  /** Memory that it lies at the beginning of. */
  readonly memory: HostMemory | undefined;
  #isClosed = false;
  #users = 0;

  private constructor(
    pointer: Pointer,
    { type, dims }: Shape,
    { data, memory }: { readonly data?: TensorData; readonly memory?: HostMemory } = {},
  ) {
    this.#pointer = pointer;
    this.type = type;
    this.dims = dims;
    this.#data = data;
    this.memory = memory;
    memory?.hold();
    this.place = data === undefined && memory === undefined ? placeOf(pointer) : HOST;
    open += 1;
  }

  /** Lies in the tensor's own memory; nothing is copied. */
  static of({ type, data, dims }: Tensor): Value {
    const shape = { type, dims };
    return new Value(createOver(data, data.byteLength, shape), shape, { data });
  }

  /** Lies at the memory's beginning, which is freed with the last of its values. */
  static in(memory: HostMemory, { type, dims }: Shape): Value {
    const shape = { type, dims };
    return new Value(createOver(memory.address, byteLengthOf(shape), shape), shape, { memory });
  }

  /** Zeros in memory of JavaScript's own. */
  static zeros(type: TensorType, dims: readonly number[]): Value {
    return Value.of({ type, data: new DATA[type](elementCount(dims)), dims });
  }

  /** In memory that the allocator gives, its numbers not set; closed before the allocator is released. */
  static allocate(allocator: Pointer, { type, dims }: Shape): Value {
    const { api } = ort();
    const shape = BigInt64Array.from(dims, BigInt);
    const pointer = create((slot) =>
      api.CreateTensorAsOrtValue(allocator, shape, dims.length, NUMBERS[type], slot),
    );
    return new Value(pointer, { type, dims });
  }

  /** Takes over what a run has made. Throws where its element type is not read. */
  static adopt(pointer: Pointer): Value {
    return new Value(pointer, shapeOf(pointer));
  }

  /** Whether the tensor is of this type and shape, and in this value's own memory. */
  liesAt({ type, dims, data }: Tensor): boolean {
    const own = this.#data;
    return (
      own !== undefined &&
      own.buffer === data.buffer &&
      own.byteOffset === data.byteOffset &&
      type === this.type &&
      dims.length === this.dims.length &&
      dims.every((dim, axis) => dim === this.dims[axis])
    );
  }

  /** For a run, until it calls `release`. Throws once the value is closed: freed memory is never read. */
  hold(): Pointer {
    this.#throwIfClosed();
    this.#users += 1;
    return this.#pointer;
  }

  release(): void {
    this.#users -= 1;
    this.#free();
  }

  /** Calls with the address of its numbers in this process, copies of which live as long as the call. */
  at<T>(use: (address: Pointer) => T): T {
    this.#throwIfClosed();
    if (this.memory !== undefined) return use(this.memory.address);
    lent = this.read().data;
    try {
      return use(lent.byteLength === 0 ? 0n : koffi.address(lent));
    } finally {
      lent = undefined;
    }
  }

  /** The numbers: the value's own memory where that is JavaScript's, else a copy. */
  read(): Tensor {
    this.#throwIfClosed();
    const { type, dims, place } = this;
    if (this.#data !== undefined) return { type, dims, data: this.#data };
    if (place === HOST) return { type, dims, data: copy(this.#pointer, { type, dims }) };
    const target = Value.zeros(type, dims);
    try {
      target.write(this);
      return target.read();
    } finally {
      target.close();
    }
  }

  /** Takes over the numbers of another of its type and shape, from wherever they are. */
  write(source: Value): void {
    const { api, env } = ort();
    if (elementCount(this.dims) === 0) return;
    const from = source.hold();
    try {
      const to = this.hold();
      try {
        check(api.CopyTensors(env, BigUint64Array.of(from), BigUint64Array.of(to), null, 1));
      } finally {
        this.release();
      }
    } finally {
      source.release();
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    open -= 1;
    this.#free();
  }

  #throwIfClosed(): void {
    if (this.#isClosed) throw new Error("the tensor is closed");
  }

  #free(): void {
    if (!this.#isClosed || this.#users > 0) return;
    ort().api.ReleaseValue(this.#pointer);
    this.memory?.release();
  }
}

function createOver(
  data: TensorData | Pointer,
  byteLength: number,
  { type, dims }: Shape,
): Pointer {
  const { api, hostMemory } = ort();
  const [shape, number] = [BigInt64Array.from(dims, BigInt), NUMBERS[type]];
  return create((slot) =>
    api.CreateTensorWithDataAsOrtValue(
      hostMemory,
      data,
      byteLength,
      shape,
      dims.length,
      number,
      slot,
    ),
  );
}

function placeOf(pointer: Pointer): string {
  const { api } = ort();
  const memory = create((slot) => api.GetTensorMemoryInfo(pointer, slot));
  return koffi.decode.string(create((slot) => api.MemoryInfoGetName(memory, slot)));
}

function shapeOf(pointer: Pointer): Shape {
  const { api } = ort();
  const info = create((slot) => api.GetTensorTypeAndShape(pointer, slot));
  try {
    const { type, dims } = readShapeInfo(info);
    return { type, dims: dims.map(Number) };
  } finally {
    api.ReleaseTensorTypeAndShapeInfo(info);
  }
}

/** Reads an OrtTensorTypeAndShapeInfo; a free dimension is its name. Throws where the type is not read. */
export function readShapeInfo(info: Pointer): {
  readonly type: TensorType;
  readonly dims: readonly (number | string)[];
} {
  const { api } = ort();
  // An enum has 32 bits; the rest of the slot is zero.
  const number = Number(create((slot) => api.GetTensorElementType(info, slot)));
  const found = Object.entries(NUMBERS).find(([, own]) => own === number);
  if (found === undefined)
    throw new Error(`its element type ${UNREAD[number] ?? number} is not read`);
  const dims = new BigInt64Array(Number(create((slot) => api.GetDimensionsCount(info, slot))));
  check(api.GetDimensions(info, dims, dims.length));
  const names = new BigUint64Array(dims.length);
  if (dims.some((dim) => dim < 0n)) check(api.GetSymbolicDimensions(info, names, names.length));
  return {
    // The table's keys are the types.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    type: found[0] as TensorType,
    dims: Array.from(dims, (dim, at) => (dim < 0n ? koffi.decode.string(names[at]) : Number(dim))),
  };
}

function copy(pointer: Pointer, { type, dims }: Shape): TensorData {
  const { api } = ort();
  const Data = DATA[type];
  const count = elementCount(dims);
  if (count === 0) return new Data(0);
  const address = create((slot) => api.GetTensorMutableData(pointer, slot));
  return new Data(koffi.view(address, count * Data.BYTES_PER_ELEMENT).slice(0));
}
