import { readFile } from "node:fs/promises";
import { z } from "zod";
import {
  graphPaths,
  type ModelPackage,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import { elementCount, float32, type Tensors } from "../../runtime/tensors/tensor.js";

const VOICE_ROLE = "voice-";

/** A voice's style, by the names of the graphs' inputs. */
export type Styles = ReadonlyMap<string, Tensors>;

/** Throws an error that names the file and what it holds instead. */
export async function readStyles(model: ModelPackage, hubStyleSize?: number): Promise<Styles> {
  const roles = Object.keys(model.files).filter((role) => role.startsWith(VOICE_ROLE));
  if (roles.length === 0) throw new Error(`${model.path} has no voice`);
  const styles = roles.map(async (role): Promise<[string, Tensors]> => {
    const style =
      hubStyleSize === undefined
        ? await readStyleFile(model, role)
        : await readStyleTable(model, role, hubStyleSize);
    return [role.slice(VOICE_ROLE.length), style];
  });
  return new Map(await Promise.all(styles));
}

const styleArray = z.object({ dims: z.array(z.int().positive()).length(3), data: z.unknown() });
const styleFile = z.object({ style_ttl: styleArray, style_dp: styleArray });

/** voice_styles/<id>.json: nested lists, of the latent and of durations. */
async function readStyleFile(model: ModelPackage, role: string): Promise<Tensors> {
  const stated = await readModelJson(model, role, styleFile);
  const tensors = Object.entries(stated).map(([name, { dims, data }]) => {
    const values = Float32Array.from(flatten(data));
    if (values.length === elementCount(dims) && values.every(Number.isFinite))
      return [name, float32(values, dims)] as const;
    const file = `${model.path}/${model.files[role]?.path}`;
    throw new Error(`${file}: ${name} must hold ${dims.join(" × ")} numbers, has ${values.length}`);
  });
  return Object.fromEntries(tensors);
}

function flatten(data: unknown): number[] {
  return Array.isArray(data) ? data.flatMap(flatten) : [Number(data)];
}

/** voices/<id>.bin: rows of float32. */
async function readStyleTable(model: ModelPackage, role: string, size: number): Promise<Tensors> {
  const { [role]: path = "" } = graphPaths(model, [role]);
  const bytes = new Uint8Array(await readFile(path));
  const rowBytes = 4 * size;
  if (bytes.byteLength === 0 || bytes.byteLength % rowBytes !== 0)
    throw new Error(`${path} must hold rows of ${rowBytes} bytes, has ${bytes.byteLength}`);
  const rows = bytes.byteLength / rowBytes;
  return { style: float32(new Float32Array(bytes.buffer), [1, rows, size]) };
}
