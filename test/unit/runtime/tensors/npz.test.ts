import { zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { readNpz } from "#framemill/runtime/tensors/npz.js";

/** An array as numpy.lib.format writes it. */
function npy(header: string, values: Uint8Array, version = 1): Uint8Array {
  const text = Buffer.from(`${header}\n`, "latin1");
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(text.length);
  else length.writeUInt32LE(text.length);
  const magic = Buffer.from([0x93, ...Buffer.from("NUMPY"), version, 0]);
  return Buffer.concat([magic, length, text, values]);
}

const header = (type: string, order: string, shape: string) =>
  `{'descr': '${type}', 'fortran_order': ${order}, 'shape': (${shape}), }`;
const floats = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
const plain = header("<f4", "False", "3, 2");
const archive = (name: string, content: Uint8Array) => zipSync({ [name]: content });

describe("an archive of NumPy", () => {
  it.each([1, 2])("gives its arrays by name, in format %i, packed or not", (version) => {
    for (const level of [0, 9] as const) {
      const bytes = zipSync({ "a.b.npy": npy(plain, floats, version) }, { level });
      const array = readNpz(bytes, "voices.npz").get("a.b");
      expect(array).toEqual({ shape: [3, 2], values: Float32Array.of(1, 2, 3, 4, 5, 6) });
    }
  });

  it.each([
    ["a zip", Buffer.from("PK no"), "voices.npz is no archive of NumPy: invalid zip data"],
    ["arrays alone", archive("notes.txt", floats), "holds <name>.npy, got notes.txt"],
    ["names that are no paths", archive("../a.npy", floats), "holds <name>.npy, got ../a.npy"],
    ["arrays", archive("a.npy", floats), "a.npy is no array of NumPy"],
    [
      "float32",
      archive("a.npy", npy(header("<f8", "False", "3"), floats)),
      "a.npy must hold little-endian float32 (<f4), got <f8",
    ],
    ["C order", archive("a.npy", npy(header("<f4", "True", "3, 2"), floats)), "must be in C order"],
    [
      "as many values as it says",
      archive("a.npy", npy(header("<f4", "False", "3, 3"), floats)),
      "a.npy of shape 3 × 3 must hold 36 bytes, has 24",
    ],
  ])("must hold %s", (_, bytes, sentence) => {
    expect(() => readNpz(bytes, "voices.npz")).toThrow(sentence);
  });

  it("is not unpacked beyond 512 MiB, whatever lengths it states", () => {
    const bytes = Buffer.from(archive("a.npy", npy(plain, floats)));
    const directory = bytes.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    bytes.writeUInt32LE(0x7fff_0000, directory + 24);
    expect(() => readNpz(bytes, "voices.npz")).toThrow("larger than 536870912 bytes");
    bytes.writeUInt32LE(20, directory + 24);
    expect(() => readNpz(bytes, "voices.npz")).toThrow("a.npy");
  });
});
