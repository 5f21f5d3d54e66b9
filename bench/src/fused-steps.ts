import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PipelineSetup } from "../../src/core/modality.js";
import { fusePackage } from "../../src/models/diffusion/fuse-package.js";
import { loadModelPackage } from "../../src/runtime/packages/model-package.js";
import { denoise, encodePrompts } from "../../src/models/motion/denoise.js";
import { type MotionModel, openMotionModel } from "../../src/models/motion/model.js";
import { BENCH_REQUEST } from "./clip.js";
import { type BenchRow, compare, type Pair, timed } from "./measure.js";

/** Denoisings of one measurement: a single one is too short to time. */
const REPEATS = 5;

/** The latents of a clip by the sampler that `models fuse` makes, and by the step loop, in turns. */
export async function benchFusedSteps(setup: PipelineSetup, rounds: number): Promise<BenchRow> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  const models: MotionModel[] = [];
  try {
    const modelPath = join(folder, "fused");
    await cp(setup.modelPath, modelPath, { recursive: true });
    await fusePackage(await loadModelPackage(modelPath));
    const loop = await openMotionModel(await loadModelPackage(setup.modelPath), setup);
    models.push(loop);
    const fused = await openMotionModel(await loadModelPackage(modelPath), setup);
    models.push(fused);
    const pairs: Pair[] = [];
    // The first tells the sampler how long a step takes.
    for (const model of models) await denoiseClips(model);
    for (let round = 0; round < rounds; round += 1)
      pairs.push({ ours: await denoiseClips(fused), against: await denoiseClips(loop) });
    const what = `denoising, ${fused.denoising.graph} / ${loop.denoising.graph}`;
    return compare({ what, unit: "ms", target: null }, pairs);
  } finally {
    for (const model of models) await model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Milliseconds of one clip's steps. */
async function denoiseClips(model: MotionModel): Promise<number> {
  const { signal } = new AbortController();
  const request = BENCH_REQUEST;
  const context = await encodePrompts(model, request);
  const { seconds } = await timed(async () => {
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const steps = denoise({ model, request, context, picture: null, signal });
      while ((await steps.next()).done !== true);
    }
  });
  return (seconds * 1_000) / REPEATS;
}
