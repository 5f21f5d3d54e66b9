import { readFile } from "node:fs/promises";

/** Values of a little-endian float32 .npy file, version 1. */
export async function readFloatsNpy(path: string): Promise<Float32Array> {
  const bytes = await readFile(path);
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, start);
  if (!header.includes("'<f4'")) throw new Error(`${path} must hold float32, got ${header}`);
  const body = Uint8Array.from(bytes.subarray(start));
  return new Float32Array(body.buffer);
}

/** The greatest absolute difference; Infinity where the lengths differ. */
export function deviation(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Infinity;
  let greatest = 0;
  for (let index = 0; index < expected.length; index += 1) {
    const difference = Math.abs((actual[index] ?? NaN) - (expected[index] ?? NaN));
    greatest = Math.max(greatest, Number.isNaN(difference) ? Infinity : difference);
  }
  return greatest;
}

/** Prints a measured deviation where FRAMEMILL_PRINT_DEVIATIONS is set. */
export function reportDeviation(name: string, value: number): void {
  if (process.env["FRAMEMILL_PRINT_DEVIATIONS"])
    process.stdout.write(`${name} ${value.toExponential(2)}\n`);
}
