import type { ModelPackage } from "./model-package.js";

/** Weights below which a run is over before a second thread has woken (measured on two cores). */
const SMALL_BYTES = 16 * 1024 * 1024;

/** Threads for graphs that are run for every token or every short text, by the size of their weights. */
export function threadsFor({ files }: ModelPackage, role: string, threads: number): number {
  const weights = Object.entries(files).filter(
    ([name]) => name === role || name.startsWith(`${role}-data`),
  );
  const byteLength = weights.reduce((sum, [, file]) => sum + file.byteLength, 0);
  return byteLength < SMALL_BYTES ? 1 : threads;
}
