import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Modality, Pipeline } from "../../core/modality.js";
import { admitAlone } from "./admit-alone.js";
import { modelInfo, type ModelPackage } from "./model-package.js";

/** Runs the modality's own example through a loaded pipeline and throws its files away. Rejects where it fails. */
export async function runExample(
  model: ModelPackage,
  modality: Modality,
  pipeline: Pipeline<unknown, unknown>,
): Promise<void> {
  const info = await modelInfo(model);
  const body = modality.example(info);
  const { request, readInput } = await admitAlone({ body, modality, info });
  const scratchPath = await mkdtemp(join(tmpdir(), "framemill-canary-"));
  try {
    const { signal } = new AbortController();
    for await (const event of pipeline.run(request, { signal, scratchPath, readInput }))
      if (event.type === "output") return;
    throw new Error("it ended without an output");
  } finally {
    await rm(scratchPath, { recursive: true, force: true });
  }
}
