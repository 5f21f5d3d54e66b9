import { type Piece, bytesPieces } from "./protobuf-pieces.js";
import { bytesField, numberField } from "./protobuf-write.js";

/** ONNX's numbers of element types (onnx.proto3, TensorProto.DataType). */
export const FLOAT = 1;
const INT64 = 7;

const [ATTRIBUTE_INT, ATTRIBUTE_GRAPH, ATTRIBUTE_INTS] = [2, 5, 7];

export interface NodeSpec {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: readonly (readonly Piece[])[];
}

/** A GraphProto's field with a NodeProto. */
export function nodeField({ operator, inputs, outputs, attributes = [] }: NodeSpec): Piece[] {
  return bytesPieces(1, [
    ...inputs.map((name) => bytesField(1, name)),
    ...outputs.map((name) => bytesField(2, name)),
    bytesField(4, operator),
    ...attributes.flatMap((attribute) => bytesPieces(5, attribute)),
  ]);
}

/** An AttributeProto with a whole number from 0. */
export function intAttribute(name: string, value: number): Piece[] {
  return [bytesField(1, name), numberField(3, value), numberField(20, ATTRIBUTE_INT)];
}

/** An AttributeProto with whole numbers from 0. */
export function intsAttribute(name: string, values: readonly number[]): Piece[] {
  const each = values.map((value) => numberField(8, value));
  return [bytesField(1, name), ...each, numberField(20, ATTRIBUTE_INTS)];
}

/** An AttributeProto with a GraphProto. */
export function graphAttribute(name: string, graph: readonly Piece[]): Piece[] {
  return [bytesField(1, name), ...bytesPieces(6, graph), numberField(20, ATTRIBUTE_GRAPH)];
}

/** A GraphProto's initializer of int64 [values]. */
export function int64Field(name: string, values: readonly number[]): Buffer {
  return tensorField(name, INT64, BigInt64Array.from(values, BigInt));
}

/** A GraphProto's initializer of float32 [values]. */
export function floatField(name: string, values: readonly number[]): Buffer {
  return tensorField(name, FLOAT, Float32Array.from(values));
}

function tensorField(name: string, type: number, data: BigInt64Array | Float32Array): Buffer {
  const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return bytesField(
    5,
    numberField(1, data.length),
    numberField(2, type),
    bytesField(8, name),
    bytesField(9, raw),
  );
}

/** GraphProto's fields of ValueInfoProto. */
export const [INPUT, OUTPUT] = [11, 12] as const;

export interface ValueSpec {
  readonly name: string;
  readonly elementType: number;
  /** A number, the name of a free dimension, or null for one without a name. */
  readonly dims: readonly (number | string | null)[];
}

/** A GraphProto's declaration of an input or output. */
export function valueField(
  field: typeof INPUT | typeof OUTPUT,
  { name, elementType, dims }: ValueSpec,
): Buffer {
  const shape = dims.map((dim) => {
    if (dim === null) return bytesField(1);
    return bytesField(1, typeof dim === "number" ? numberField(1, dim) : bytesField(2, dim));
  });
  const tensor = [numberField(1, elementType), bytesField(2, ...shape)];
  return bytesField(field, bytesField(1, name), bytesField(2, bytesField(1, ...tensor)));
}
