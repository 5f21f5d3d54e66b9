import { readFile } from "node:fs/promises";
import { endianness } from "node:os";
import { z } from "zod";
import { fromHalves } from "../tensors/tensor.js";

/** Tensors of a .safetensors file, whole in memory (format: huggingface/safetensors README). */
export interface Safetensors {
  readonly names: readonly string[];
  has(name: string): boolean;
  shapeOf(name: string): readonly number[];
  /** Values as float32, whatever float or integer type they are stored in, row-major. */
  floats(name: string): Float32Array;
  /** Values of an integer tensor; throws where one does not fit in 32 bits. */
  integers(name: string): Int32Array;
}

const entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});
const header = z.record(z.string(), z.unknown());

type Entry = z.infer<typeof entry>;
type Values = ArrayLike<number>;

interface ElementType {
  readonly byteLength: number;
  /** Reads an aligned copy. */
  read(bytes: ArrayBuffer): Values;
}

const ELEMENT_TYPES: Readonly<Record<string, ElementType>> = {
  F64: { byteLength: 8, read: (bytes) => new Float64Array(bytes) },
  F32: { byteLength: 4, read: (bytes) => new Float32Array(bytes) },
  F16: { byteLength: 2, read: (bytes) => fromHalves(new Uint16Array(bytes)) },
  BF16: { byteLength: 2, read: (bytes) => fromBrainFloats(new Uint16Array(bytes)) },
  I64: { byteLength: 8, read: (bytes) => Float64Array.from(new BigInt64Array(bytes), Number) },
  I32: { byteLength: 4, read: (bytes) => new Int32Array(bytes) },
  I16: { byteLength: 2, read: (bytes) => new Int16Array(bytes) },
  I8: { byteLength: 1, read: (bytes) => new Int8Array(bytes) },
  U8: { byteLength: 1, read: (bytes) => new Uint8Array(bytes) },
};

const LENGTH_BYTES = 8;
/** The format's own bound on the header. */
const MAX_HEADER_BYTES = 100_000_000;

/** Reads and checks a file. Throws an error that names the file, and the tensor at fault. */
export async function readSafetensors(path: string): Promise<Safetensors> {
  if (endianness() !== "LE") throw new Error("safetensors are read on little-endian machines only");
  const file = await readFile(path);
  const headerLength = readHeaderLength(file, path);
  const data = file.subarray(LENGTH_BYTES + headerLength);
  const entries = readEntries(file.subarray(LENGTH_BYTES, LENGTH_BYTES + headerLength), path);
  for (const [name, tensor] of entries) checkEntry(tensor, data.byteLength, `${path}: ${name}`);
  return viewOf(entries, data, path);
}

function readHeaderLength(file: Buffer, path: string): number {
  const length = file.byteLength < LENGTH_BYTES ? -1 : Number(file.readBigUInt64LE(0));
  if (length >= 2 && length <= Math.min(MAX_HEADER_BYTES, file.byteLength - LENGTH_BYTES))
    return length;
  throw new Error(`${path} is not a safetensors file: its header does not fit`);
}

function readEntries(bytes: Buffer, path: string): Map<string, Entry> {
  try {
    const parsed = Object.entries(header.parse(JSON.parse(bytes.toString("utf8"))));
    const tensors = parsed.filter(([name]) => name !== "__metadata__");
    return new Map(tensors.map(([name, value]) => [name, entry.parse(value)]));
  } catch (cause) {
    throw new Error(`${path} has a header that is not read`, { cause });
  }
}

function checkEntry(
  { dtype, shape, data_offsets: [from, to] }: Entry,
  end: number,
  what: string,
): void {
  const type = ELEMENT_TYPES[dtype];
  if (type === undefined)
    throw new Error(
      `${what} has the type ${dtype}: ${Object.keys(ELEMENT_TYPES).join(", ")} are read`,
    );
  const byteLength = shape.reduce((product, side) => product * side, type.byteLength);
  if (to > end || to - from !== byteLength)
    throw new Error(`${what} must have ${byteLength} bytes within ${end}, has ${from} to ${to}`);
}

function viewOf(entries: ReadonlyMap<string, Entry>, data: Buffer, path: string): Safetensors {
  const get = (name: string): Entry => {
    const found = entries.get(name);
    if (found === undefined)
      throw new Error(`${path} has no tensor ${name}: it has ${[...entries.keys()].join(", ")}`);
    return found;
  };
  const read = (name: string): Values => {
    const { dtype, data_offsets: offsets } = get(name);
    const copy = Uint8Array.from(data.subarray(...offsets));
    return ELEMENT_TYPES[dtype]?.read(copy.buffer) ?? [];
  };
  return {
    names: [...entries.keys()],
    has: (name) => entries.has(name),
    shapeOf: (name) => get(name).shape,
    floats(name) {
      const values = read(name);
      return values instanceof Float32Array ? values : Float32Array.from(values);
    },
    integers(name) {
      const values = read(name);
      const whole = Int32Array.from(values);
      if (whole.every((value, index) => value === values[index])) return whole;
      throw new Error(`${path}: ${name} must hold 32-bit integers`);
    },
  };
}

/** The upper half of a float32's bits. */
function fromBrainFloats(halves: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}
