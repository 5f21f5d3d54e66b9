import type { ModelInfo } from "../core/modality.js";
import type { ModelPackage } from "../runtime/packages/model-package.js";
import { readProcessMemory } from "../runtime/process/process-memory.js";
import { openPackageRunner, type RunnerParts } from "./package-runner.js";

/** Key of model.json's `memory` → bytes over those of an empty inference process. */
export type MeasuredMemory = Readonly<Record<string, number>>;

interface Case {
  /** `1280x720x4`, `1024x1024`, `60s`, or `example`. */
  readonly name: string;
  /** Over the modality's example. */
  readonly body: Record<string, unknown>;
}

/** Loads the package in a new process for each case and makes it. Throws the sentence that says why one fails. */
export async function measurePackage(
  model: ModelPackage,
  parts: RunnerParts,
  signal: AbortSignal,
): Promise<MeasuredMemory> {
  const emptyBytes = await measureEmpty(parts);
  const memory: Record<string, number> = {};
  let cases: readonly Case[] = [{ name: "example", body: {} }];
  for (let at = 0; at < cases.length; at += 1) {
    signal.throwIfAborted();
    const runner = await openPackageRunner(model, parts);
    try {
      if (at === 0) cases = casesOf(runner.modality.name, runner.info);
      const loaded = await readProcessMemory(runner.processId ?? 0);
      memory["resident"] ??= loaded.residentBytes - emptyBytes;
      const { name, body } = cases[at] ?? { name: "example", body: {} };
      await runner.make({ ...runner.modality.example(runner.info), ...body }, signal);
      const { peakBytes } = await readProcessMemory(runner.processId ?? 0);
      memory[name] = peakBytes - emptyBytes;
    } finally {
      await runner.close();
    }
  }
  return memory;
}

async function measureEmpty({ openInference }: RunnerParts): Promise<number> {
  const inference = openInference([]);
  try {
    await inference.ready();
    return (await readProcessMemory(inference.processId ?? 0)).residentBytes;
  } finally {
    await inference.close();
  }
}

/** Each size at the shortest and the longest duration; the example alone where a model has neither. */
function casesOf(modality: string, { sizes, minSeconds, maxSeconds }: ModelInfo): readonly Case[] {
  const isTimed = modality === "video" || modality === "music";
  const durations = isTimed
    ? [minSeconds, maxSeconds].filter((seconds) => seconds !== undefined)
    : [];
  const timed = durations.map((seconds) => ({ name: String(seconds), body: { seconds } }));
  if (sizes === undefined)
    return timed.length === 0
      ? [{ name: "example", body: {} }]
      : timed.map(({ name, body }) => ({ name: `${name}s`, body }));
  return sizes.flatMap((size) =>
    timed.length === 0
      ? [{ name: size, body: { size } }]
      : timed.map(({ name, body }) => ({
          name: `${size}x${name}`,
          body: { size, ...body, ...(isLarge(size) && { quality: "high" }) },
        })),
  );
}

/** Sizes of the highest tier only. */
function isLarge(size: string): boolean {
  const [width = 0, height = 0] = size.split("x").map(Number);
  return Math.min(width, height) > 720;
}
