import { readFile } from "node:fs/promises";
import type { BenchResult } from "../measure.js";
import {
  benchMlperfVideo,
  MLPERF_VIDEO,
  mlperfMismatches,
  mlperfUnmeasured,
} from "../mlperf-video.js";
import type { Config } from "../../../src/config.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import { openPackageRunner, runnerParts } from "../../../src/bin/package-runner.js";
import type { SuiteOptions } from "./bench-options.js";

/** MLPerf's text-to-video settings on a package of MODELS_DIR, or what is missing for that. */
export async function runMlperfVideo(
  config: Config,
  _rounds: number,
  { model: id, prompts: path }: SuiteOptions,
): Promise<BenchResult> {
  const packages = await listModelPackages(config.modelsDir);
  const model = packages.find((found) => found.id === (id ?? "wan2.2-t2v-a14b"));
  const needs = "needs a package of Wan2.2-T2V-A14B in MODELS_DIR, named by --model";
  if (model === undefined) return mlperfUnmeasured([needs]);
  const mismatches = mlperfMismatches(model).map((reason) => `${model.id}: ${reason}`);
  if (mismatches.length > 0) return mlperfUnmeasured([needs, ...mismatches]);
  if (path === undefined)
    return mlperfUnmeasured([
      `needs --prompts, the test's file of ${MLPERF_VIDEO.prompts} prompts, one a line`,
    ]);
  const prompts = (await readFile(path, "utf8")).split("\n").filter((line) => line.trim() !== "");
  const runner = await openPackageRunner(model, runnerParts(config));
  const { signal } = new AbortController();
  const { seed, seconds, negativePrompt } = MLPERF_VIDEO;
  const asked = { model: model.id, quality: "fast", seed, negative_prompt: negativePrompt };
  try {
    const make = (prompt: string) => runner.make({ ...asked, prompt, seconds }, signal);
    const { concurrency, ahead = 0 } = runner.info;
    const slots = concurrency * (1 + ahead);
    return await benchMlperfVideo({ modelId: model.id, prompts, slots, make });
  } finally {
    await runner.close();
  }
}
