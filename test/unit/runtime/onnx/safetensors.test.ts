import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSafetensors } from "#framemill/runtime/onnx/safetensors.js";

interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

describe("readSafetensors", () => {
  let folder = "";
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-safetensors-"))));
  afterAll(() => rm(folder, { recursive: true }));

  async function write(tensors: Readonly<Record<string, Stored>>, change = (text: string) => text) {
    let end = 0;
    const entries = Object.entries(tensors).map(([name, { dtype, shape, bytes }]) => {
      const data_offsets = [end, (end += bytes.byteLength)];
      return [name, { dtype, shape, data_offsets }];
    });
    const header = Buffer.from(change(JSON.stringify(Object.fromEntries(entries))));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.byteLength));
    const path = join(folder, "model.safetensors");
    const data = Object.values(tensors).map(({ bytes }) => bytes);
    await writeFile(path, Buffer.concat([length, header, ...data]));
    return path;
  }
  const bytesOf = (view: ArrayBufferView) => new Uint8Array(view.buffer);

  test("reads every float and integer type, unaligned ones too", async () => {
    const one = { shape: [2] };
    const path = await write({
      odd: { dtype: "U8", shape: [1], bytes: Uint8Array.of(7) },
      f64: { dtype: "F64", ...one, bytes: bytesOf(Float64Array.of(1.5, -2)) },
      f32: { dtype: "F32", ...one, bytes: bytesOf(Float32Array.of(1.5, -2)) },
      f16: { dtype: "F16", ...one, bytes: bytesOf(Uint16Array.of(0x3e00, 0xc000)) },
      bf16: { dtype: "BF16", ...one, bytes: bytesOf(Uint16Array.of(0x3fc0, 0xc000)) },
      i8: { dtype: "I8", ...one, bytes: bytesOf(Int8Array.of(5, -6)) },
      i64: { dtype: "I64", ...one, bytes: bytesOf(BigInt64Array.of(5n, -6n)) },
    });
    const file = await readSafetensors(path);
    for (const name of ["f64", "f32", "f16", "bf16"])
      expect([...file.floats(name)]).toEqual([1.5, -2]);
    expect([...file.floats("i8")]).toEqual([5, -6]);
    expect([...file.integers("i64")]).toEqual([5, -6]);
    expect(file.shapeOf("i64")).toEqual([2]);
    expect(() => file.integers("f32")).toThrow("32-bit integers");
    expect(() => file.floats("none")).toThrow("has no tensor none");
  });

  test("refuses a tensor that reaches out of the file, and a file of another kind", async () => {
    const tensor = { dtype: "F32", shape: [2], bytes: bytesOf(Float32Array.of(1, 2)) };
    const path = await write({ a: tensor }, (text) => text.replace("[0,8]", "[8,16]"));
    await expect(readSafetensors(path)).rejects.toThrow("a must have 8 bytes within 8");
    await writeFile(path, "not a model");
    await expect(readSafetensors(path)).rejects.toThrow("is not a safetensors file");
  });
});
