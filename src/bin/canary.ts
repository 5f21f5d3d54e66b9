import type { ModelPackage } from "../runtime/packages/model-package.js";
import { openPackageRunner, type RunnerParts } from "./package-runner.js";

/** A first run on a cold machine may load and compile for minutes. */
const LONGEST_MS = 1_200_000;

/**
 * Runs the modality's own example through the package; returns the seconds it took once the model was
 * loaded. Throws the sentence that says why there was no output.
 */
export async function runCanary(
  model: ModelPackage,
  parts: RunnerParts,
  outer?: AbortSignal,
): Promise<number> {
  const inTime = AbortSignal.timeout(LONGEST_MS);
  const signal = outer ? AbortSignal.any([outer, inTime]) : inTime;
  try {
    const runner = await openPackageRunner(model, parts);
    try {
      const { seconds } = await runner.make(runner.modality.example(runner.info), signal);
      return seconds;
    } finally {
      await runner.close();
    }
  } catch (cause) {
    outer?.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the canary of ${model.id} failed: ${reason}`, { cause });
  }
}
