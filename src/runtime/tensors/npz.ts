import { unzipSync } from "fflate";
import { messageOf } from "../../core/errors.js";
import { elementCount } from "./tensor.js";

/** An array of NumPy, in C order. */
export interface NpyArray {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** What all arrays of an archive may hold together, in bytes. */
const MAX_BYTES = 512 * 1_048_576;
const NAME = /^([\w.+-]+)\.npy$/;

/**
 * The float32 arrays of an archive that `numpy.savez` or `savez_compressed` wrote, by name. Throws an error
 * that names `file`, the array and what it is instead.
 */
export function readNpz(bytes: Uint8Array, file: string): ReadonlyMap<string, NpyArray> {
  const arrays = Object.entries(unzip(bytes, file)).map(([path, content]) => {
    const [, name] = NAME.exec(path) ?? [];
    if (name === undefined)
      throw new Error(`${file}: an archive of NumPy holds <name>.npy, got ${path.slice(0, 80)}`);
    return [name, readNpy(content, `${file}: ${path}`)] as const;
  });
  return new Map(arrays);
}

function unzip(bytes: Uint8Array, file: string): Record<string, Uint8Array> {
  let total = 0;
  // A length that lies is no way around the limit: what is unpacked ends at the length that was stated.
  const filter = ({ originalSize }: { readonly originalSize: number }) => {
    total += originalSize;
    if (total > MAX_BYTES) throw new Error(`its arrays are larger than ${MAX_BYTES} bytes`);
    return true;
  };
  try {
    return unzipSync(bytes, { filter });
  } catch (cause) {
    throw new Error(`${file} is no archive of NumPy: ${messageOf(cause)}`, { cause });
  }
}

/** Format 1 to 3 of numpy.lib.format: magic, version, length of the header, header, values. */
function readNpy(bytes: Uint8Array, what: string): NpyArray {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = String.fromCharCode(...bytes.subarray(0, 6));
  if (magic !== "\x93NUMPY" || bytes.byteLength < 12)
    throw new Error(`${what} is no array of NumPy`);
  const isLong = view.getUint8(6) > 1;
  const start = isLong ? 12 : 10;
  const end = start + (isLong ? view.getUint32(8, true) : view.getUint16(8, true));
  const { shape } = parseHeader(new TextDecoder().decode(bytes.subarray(start, end)), what);
  const length = elementCount(shape);
  const values = bytes.slice(end);
  if (values.byteLength !== 4 * length)
    throw new Error(
      `${what} of shape ${shape.join(" × ")} must hold ${4 * length} bytes, has ${values.byteLength}`,
    );
  return { shape, values: new Float32Array(values.buffer) };
}

/** A dict of Python, e.g. `{'descr': '<f4', 'fortran_order': False, 'shape': (510, 1, 256), }`. */
function parseHeader(header: string, what: string): Pick<NpyArray, "shape"> {
  const [, type = header.slice(0, 80)] = /'descr':\s*'([^']*)'/.exec(header) ?? [];
  if (type !== "<f4") throw new Error(`${what} must hold little-endian float32 (<f4), got ${type}`);
  if (!/'fortran_order':\s*False/.test(header))
    throw new Error(`${what} must be in C order, got Fortran order`);
  const [, sizes] = /'shape':\s*\(([\d\s,]*)\)/.exec(header) ?? [];
  if (sizes === undefined) throw new Error(`${what} states no shape`);
  return { shape: Array.from(sizes.matchAll(/\d+/g), ([size]) => Number(size)) };
}
