import { readFile } from "node:fs/promises";
import { readNpz } from "../../runtime/tensors/npz.js";

/** Numbers of one style, as Kokoro and KittenTTS have it (StyleTTS 2). */
export const STYLE_SIZE = 256;

/** Style tables by voice, float32 [rows, 256]. */
export type StyleTables = ReadonlyMap<string, Float32Array>;

/** The tables of an archive of NumPy, one array a voice. Throws an error that names `file` and the voice. */
export async function readStyleTables(path: string, file = path): Promise<StyleTables> {
  const arrays = readNpz(await readFile(path), file);
  if (arrays.size === 0) throw new Error(`${file} holds no voice`);
  const tables = Array.from(arrays, ([voice, { shape, values }]) => {
    if (values.length > 0 && shape.length > 1 && shape.at(-1) === STYLE_SIZE)
      return [voice, values] as const;
    const got = shape.join(" × ");
    throw new Error(
      `${file}: the voice ${voice} must hold styles of ${STYLE_SIZE} numbers, is ${got}`,
    );
  });
  return new Map(tables);
}
