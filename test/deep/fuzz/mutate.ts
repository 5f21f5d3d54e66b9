import * as fc from "fast-check";

/** One change to a run of bytes. `at` and `length` are fractions of the whole in thousandths. */
export interface Edit {
  readonly kind: "set" | "flip" | "insert" | "cut" | "repeat" | "end" | "number";
  readonly at: number;
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly value: number;
}

/** 32-bit numbers at which lengths and counts go wrong. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("set", "flip", "insert", "cut", "repeat", "end", "number"),
  at: fc.nat(1_000),
  length: fc.nat(40),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 16 }),
  value: fc.constantFrom(...EDGES),
});

export const edits = fc.array(edit, { minLength: 1, maxLength: 6 });

/** The sample with its edits, one after the other; never longer than a mebibyte beyond it. */
export function mutate(sample: Uint8Array, changes: readonly Edit[]): Buffer {
  const limit = sample.byteLength + 2 ** 20;
  return changes.reduce((bytes, change) => apply(bytes, change).subarray(0, limit), copy(sample));
}

function apply(bytes: Buffer, { kind, at, length, bytes: own, value }: Edit): Buffer {
  const start = Math.floor((bytes.byteLength * at) / 1_000);
  const end = Math.min(bytes.byteLength, start + Math.floor((bytes.byteLength * length) / 1_000));
  const before = bytes.subarray(0, start);
  const within = bytes.subarray(start, end);
  const after = bytes.subarray(end);
  const flipped = Buffer.from([(bytes[start] ?? 0) ^ (1 << (value % 8))]);
  const changed: Readonly<Record<Edit["kind"], () => Buffer>> = {
    set: () => overwrite(bytes, start, own),
    flip: () => overwrite(bytes, start, flipped),
    number: () => overwrite(bytes, start, bigEndian(value)),
    insert: () => Buffer.concat([before, own, within, after]),
    cut: () => Buffer.concat([before, after]),
    repeat: () => Buffer.concat([before, within, within, within, after]),
    end: () => copy(before),
  };
  return changed[kind]();
}

function overwrite(bytes: Buffer, start: number, own: Uint8Array): Buffer {
  const changed = copy(bytes);
  changed.set(own.subarray(0, Math.max(0, bytes.byteLength - start)), start);
  return changed;
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function copy(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}
