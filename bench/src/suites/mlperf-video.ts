import { readFile } from "node:fs/promises";
import { z } from "zod";
import { openPackageRunner, runnerParts } from "../../../src/bin/package-runner.js";
import type { Config } from "../../../src/config.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import type { SuiteOptions } from "../bench.js";
import {
  type BenchResult,
  distribute,
  machine,
  round,
  timed,
  type Unmeasured,
} from "../report/measure.js";

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

/**
 * Text to video as MLPerf Inference sets it for Wan2.2-T2V-A14B: mlcommons/inference,
 * text_to_video/wan2.2-t2v-14b/inference_config.yaml. A clip of 81 frames is 5 seconds and one frame: all
 * are made, and the last is not in the file, since our clips last whole seconds.
 */
export const MLPERF_VIDEO = {
  width: 1280,
  height: 720,
  frames: 81,
  seconds: 5,
  frameRate: 16,
  steps: 20,
  /** Above and below the boundary of the noise schedule. */
  guidance: [4, 3],
  guidanceBoundary: 0.875,
  seed: 42,
  /** Prompts of its data set. */
  prompts: 248,
  negativePrompt:
    "vivid colors, overexposed, static, blurry details, subtitles, style, work of art, painting, picture, still, overall grayish, worst quality, low quality, JPEG artifacts, ugly, deformed, extra fingers, poorly drawn hands, poorly drawn face, deformed, disfigured, deformed limbs, fused fingers, static image, cluttered background, three legs, many people in the background, walking backwards",
} as const;

/** What a package says of the clips it makes; anything may be missing. */
const claims = z.object({
  id: z.string(),
  modality: z.string(),
  shapes: z.object({
    frameRate: z.number().optional(),
    native: z.array(z.number()).optional(),
    temporalStride: z.number().optional(),
  }),
  sampler: z
    .object({
      steps: z.number().optional(),
      guidance: z.union([z.number(), z.array(z.number())]).optional(),
      guidanceBoundary: z.number().optional(),
    })
    .default({}),
});

/** Each setting of the test that a package does not have, as a phrase; empty where all fit. */
export function mlperfMismatches(model: unknown): string[] {
  const { modality, shapes, sampler } = claims.parse(model);
  if (modality !== "video") return [`a model of ${modality}, video is wanted`];
  const { width, height, frameRate, frames, steps, guidance, guidanceBoundary } = MLPERF_VIDEO;
  const facts: readonly (readonly [string, unknown, unknown])[] = [
    ["height and width", shapes.native, [height, width]],
    ["frames made of a clip", framesMade(shapes), frames],
    ["frames a second", shapes.frameRate, frameRate],
    ["denoising steps", sampler.steps, steps],
    ["guidance", sampler.guidance, guidance],
    ["guidance boundary", sampler.guidanceBoundary, guidanceBoundary],
  ];
  return facts
    .filter(([, has, wants]) => JSON.stringify(has) !== JSON.stringify(wants))
    .map(
      ([what, has, wants]) =>
        `${what}: ${has === undefined ? "not stated" : JSON.stringify(has)}, ${JSON.stringify(wants)} wanted`,
    );
}

/** Of the temporal rule, latent frames in whole, as many as the seconds need. */
function framesMade({ frameRate, temporalStride: stride }: z.infer<typeof claims>["shapes"]) {
  if (frameRate === undefined || stride === undefined) return undefined;
  return 1 + stride * Math.ceil((MLPERF_VIDEO.seconds * frameRate - 1) / stride);
}

export interface MlperfRun {
  readonly modelId: string;
  /** One a line of the data set. */
  readonly prompts: readonly string[];
  /** Clips in the making at once, as a worker takes them. */
  readonly slots: number;
  /** Makes the clip of one prompt. */
  readonly make: (prompt: string) => Promise<unknown>;
}

/**
 * Single stream: one prompt after the other, reported by the 90th percentile of latency. Offline: all are
 * there at once, and as many are made at once as a worker takes, reported by clips a second. The queue of the runs is ours, not LoadGen's: not a submission.
 */
export async function benchMlperfVideo(run: MlperfRun): Promise<BenchResult> {
  const { modelId, prompts, make, slots } = run;
  const latencies: number[] = [];
  for (const prompt of prompts) latencies.push((await timed(() => make(prompt))).seconds);
  const waiting = prompts.values();
  const serve = async () => {
    for (const prompt of waiting) await make(prompt);
  };
  const offline = await timed(() => Promise.all(Array.from({ length: slots }, serve)));
  const { width, height, frames, frameRate, steps, guidance, seed } = MLPERF_VIDEO;
  const clips = prompts.length;
  const ours = round(clips / offline.seconds);
  const against = round(clips / latencies.reduce((sum, seconds) => sum + seconds, 0));
  return {
    suite: "mlperf-video",
    conditions: {
      ...machine(),
      model: modelId,
      clip: `${width}x${height}, ${frames} frames, ${frameRate} fps`,
      steps,
      guidance: guidance.join("/"),
      seed,
      prompts: clips,
      "clips at once, offline": slots,
      "prompts of the test": MLPERF_VIDEO.prompts,
    },
    rows: [
      {
        what: "clips a second, offline / single stream",
        ours,
        against,
        unit: "1/s",
        ratio: round(ours / against),
        target: null,
        noise: null,
      },
    ],
    distributions: [distribute({ what: "single stream: a clip", unit: "s" }, latencies)],
  };
}

/** The result of a package that cannot take the test: what it lacks, in one line each. */
export function mlperfUnmeasured(why: readonly string[]): BenchResult {
  const unmeasured: Unmeasured[] = why.map((reason) => ({
    what: "MLPerf text-to-video",
    why: reason,
  }));
  return { suite: "mlperf-video", conditions: machine(), rows: [], unmeasured };
}
