import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { createStepBatch, type StepBatch } from "../../inference/diffusion/step-batch.js";
import { createLane, type Lane } from "../../inference/lane.js";
import { graphPaths, loadModelPackage } from "../../inference/model-package.js";
import { type KeepingThread, openSessions, type SessionThread } from "../../inference/session.js";
import type { Tensors } from "../../inference/tensor.js";
import { hashedNgramSettings } from "../../inference/tokenizer.js";

const motionSettings = z.object({
  tokenizer: hashedNgramSettings,
  execution: z.object({ providers: z.array(z.string()).min(1) }),
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

export type MotionSettings = z.infer<typeof motionSettings>;

/** Graphs that look at a whole clip; they run one after the other with all threads. */
const CLIP_GRAPHS = [
  "text-encoder",
  "denoiser",
  "canvas-decoder",
  "scene-decoder",
  "image-encoder",
  "picture-canvas",
  "sound",
];
const FRAME_GRAPHS = ["frame-decoder"];
/** Two rows a clip, for guidance. */
const MAX_DENOISER_ROWS = 16;
/** More decoding threads than this only fight for memory bandwidth. */
const MAX_DECODERS = 8;

export interface MotionModel {
  readonly id: string;
  readonly settings: MotionSettings;
  readonly clip: SessionThread;
  /** Denoising steps of clips of one length share runs: the same numbers as alone, on the CPU. */
  readonly steps: StepBatch;
  /** One thread each, so that windows of frames are decoded side by side. */
  readonly decoders: readonly KeepingThread[];
  /** One clip's windows are decoded before the next one's. */
  readonly decoding: Lane;
  close(): Promise<void>;
}

/** Opens the package's graphs. Throws a sentence that names what is missing or does not load. */
export async function openMotionModel(setup: PipelineSetup): Promise<MotionModel> {
  const { modelPath, threads, onRun } = setup;
  const model = await loadModelPackage(modelPath, setup.providers);
  const settings = parseSettings(modelPath, model);
  const { providers } = settings.execution;
  const decoderCount = Math.min(threads, MAX_DECODERS);
  const decoderThreads = Math.max(1, Math.floor(threads / decoderCount));
  const frameGraphs = graphPaths(model, FRAME_GRAPHS);
  const [clip, ...decoders] = await Promise.all([
    openSessions({ graphs: graphPaths(model, CLIP_GRAPHS), threads, providers }, onRun),
    ...Array.from({ length: decoderCount }, () =>
      openSessions({ graphs: frameGraphs, threads: decoderThreads, providers }, onRun),
    ),
  ]);
  const close = async () => {
    await Promise.all([clip, ...decoders].map((thread) => thread.close()));
  };
  const denoise = (feeds: Tensors) => clip.run("denoiser", feeds);
  const steps = createStepBatch({ run: denoise, maxRows: MAX_DENOISER_ROWS });
  return { id: model.id, settings, clip, steps, decoders, decoding: createLane(), close };
}

function parseSettings(modelPath: string, model: unknown): MotionSettings {
  const parsed = motionSettings.safeParse(model);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${modelPath}/model.json: ${issue?.path.join(".")} ${issue?.message}`);
}
