import { concatFloats, elementCount, float32, type Tensor } from "../../runtime/tensors/tensor.js";

/** Text states [1, tokens, features] side by side: as many features as all have together. */
export function joinFeatures(...parts: readonly Tensor[]): Tensor {
  const rows = parts[0]?.dims.at(-2) ?? 1;
  const widths = parts.map(({ dims }) => dims.at(-1) ?? 0);
  const width = widths.reduce((sum, part) => sum + part, 0);
  const joined = new Float32Array(rows * width);
  let start = 0;
  for (const [index, part] of parts.entries()) {
    const own = widths[index] ?? 0;
    const values = floats(part);
    for (let row = 0; row < rows; row += 1)
      joined.set(values.subarray(row * own, (row + 1) * own), row * width + start);
    start += own;
  }
  return float32(joined, [...(parts[0]?.dims.slice(0, -1) ?? []), width]);
}

/** Text states [1, tokens, features] one after the other; narrower ones are filled up with zeros. */
export function joinTokens(...parts: readonly Tensor[]): Tensor {
  const width = Math.max(...parts.map(({ dims }) => dims.at(-1) ?? 0));
  const padded = parts.map((part) => floats(widen(part, width)));
  const values = concatFloats(padded);
  return float32(values, [1, values.length / width, width]);
}

function widen(part: Tensor, width: number): Tensor {
  const missing = width - (part.dims.at(-1) ?? 0);
  if (missing === 0) return part;
  const dims = [...part.dims.slice(0, -1), missing];
  return joinFeatures(part, zeros(dims));
}

export function zeros(dims: readonly number[]): Tensor {
  return float32(new Float32Array(elementCount(dims)), dims);
}

/** Tensors of leading dimension 1 as one batch. */
export function stack(parts: readonly Tensor[]): Tensor {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? zeros([0]);
  return float32(concatFloats(parts.map(floats)), [parts.length, ...first.dims.slice(1)]);
}

function floats({ type, data }: Tensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw new TypeError(`text states must be float32, got ${type}`);
}

/** Original size, place of the cut, wanted size [1, 6] (Podell et al. 2023, section 2.2): uncut. */
export function sizeCondition(height: number, width: number) {
  return float32(Float32Array.of(height, width, 0, 0, height, width), [1, 6]);
}
