import { z } from "zod";
import { createMutex, type Mutex } from "../../core/async/mutex.js";
import type { PipelineSetup } from "../../core/modality.js";
import { createStepBatch, type StepBatch } from "../../runtime/batching/step-batch.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { openModelGraphs, type ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { hashedNgramSettings } from "../tokenizer/hashed-ngrams.js";

const motionSettings = z.object({
  tokenizer: hashedNgramSettings,
  shapes: z.object({
    frameRate: z.int(),
    /** Latent steps a second of clip. */
    latentsPerSecond: z.int(),
    /** Tokens that do not depend on time, and how many of them say what the canvas is. */
    stillTokens: z.int(),
    canvasTokens: z.int(),
    /** Numbers of one token. */
    channels: z.int(),
    /** Frame heights after which rain, snow or mist repeats; whole even pixels at every size. */
    tilePeriod: z.number(),
    sampleRateHz: z.int(),
    /** Frames decoded in one run. */
    windowFrames: z.int(),
    imageConditioning: z.object({
      /** Share by which every step moves the canvas tokens to the picture's. */
      pull: z.number(),
      /** Log zoom by which the camera comes closer to the picture. */
      drift: z.number(),
    }),
  }),
  sampler: z.object({
    kind: z.literal("flow-euler"),
    steps: z.int(),
    shift: z.number(),
    guidance: z.number(),
    firstStepGuidanceFraction: z.number(),
  }),
});

type MotionSettings = z.infer<typeof motionSettings>;

/** Graphs that look at a whole clip; they run one after the other with all threads. */
const CLIP_GRAPHS = [
  "text-encoder",
  "canvas-decoder",
  "scene-decoder",
  "image-encoder",
  "picture-canvas",
  "sound",
];
const DENOISER = "denoiser";
export const FRAME_DECODER = "frame-decoder";
/** Clips that share a run of the denoiser at most; each has two rows there, for guidance. */
const MAX_DENOISED = 8;
/** More windows at once than this only fight for memory bandwidth. */
const MOST_WINDOWS = 8;

export interface MotionModel {
  readonly id: string;
  readonly settings: MotionSettings;
  readonly clip: Graphs;
  /** Runs of the denoiser, which clips of one length share: the same numbers as alone, on the CPU. */
  readonly denoising: StepBatch;
  /** Decodes windows of frames, of which `windowsAtOnce` run side by side. */
  readonly frames: Graphs;
  readonly windowsAtOnce: number;
  /** One clip's windows are decoded before the next one's. */
  readonly decoding: Mutex;
  close(): Promise<void>;
}

/** Opens the package's graphs. Throws an error that names what is missing or does not load. */
export async function openMotionModel(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<MotionModel> {
  const { threads } = setup;
  const settings = parseSettings(motionSettings, model, `${model.path}/model.json`);
  const windowsAtOnce = Math.min(threads, MOST_WINDOWS);
  const [clip, frames] = await Promise.all([
    openModelGraphs(model, [...CLIP_GRAPHS, DENOISER], setup),
    openModelGraphs(model, [FRAME_DECODER], {
      ...setup,
      threads: Math.max(1, Math.floor(threads / windowsAtOnce)),
    }),
  ]);
  const close = async () => {
    await Promise.all([clip.close(), frames.close()]);
  };
  const denoising = createStepBatch({
    run: (feeds) => clip.run(DENOISER, feeds),
    maxRows: 2 * MAX_DENOISED,
  });
  return {
    id: model.id,
    settings,
    clip,
    denoising,
    frames,
    windowsAtOnce,
    decoding: createMutex(),
    close,
  };
}
