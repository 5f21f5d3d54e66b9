import { z } from "zod";
import { createMutex, type Mutex } from "../../core/async/mutex.js";
import type { PipelineSetup } from "../../core/modality.js";
import { createStepBatch, type StepBatch } from "../../runtime/batching/step-batch.js";
import { type KeepingThread, openSessions, type SessionThread } from "../../runtime/ort/session.js";
import { graphPaths, type ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import type { Tensors } from "../../runtime/tensors/tensor.js";
import { createMultiStepBatch } from "../diffusion/multi-step-batch.js";
import { chainSteps, STEP_KEEPS, STEP_ROLE } from "../diffusion/step-chain.js";
import { hashedNgramSettings } from "../tokenizer/hashed-ngrams.js";

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
const FRAME_GRAPHS = ["frame-decoder"];
/** Clips that share a run of the denoiser at most; each has two rows there, for guidance. */
const MAX_DENOISED = 8;
/** More decoding threads than this only fight for memory bandwidth. */
const MAX_DECODERS = 8;

/**
 * Steps by the denoiser, or several in a run of the samplers that `models fuse` made. Clips of one length
 * share runs: the same numbers as alone, on the CPU.
 */
interface Denoising {
  readonly graph: "denoiser" | "sampler" | typeof STEP_ROLE;
  readonly batch: StepBatch;
}

export interface MotionModel {
  readonly id: string;
  readonly settings: MotionSettings;
  readonly clip: SessionThread;
  readonly denoising: Denoising;
  /** One thread each, so that windows of frames are decoded side by side. */
  readonly decoders: readonly KeepingThread[];
  /** One clip's windows are decoded before the next one's. */
  readonly decoding: Mutex;
  close(): Promise<void>;
}

/** Opens the package's graphs. Throws an error that names what is missing or does not load. */
export async function openMotionModel(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<MotionModel> {
  const { threads, onRun } = setup;
  const settings = parseSettings(motionSettings, model, `${model.path}/model.json`);
  const { providers } = settings.execution;
  const decoderCount = Math.min(threads, MAX_DECODERS);
  const decoderThreads = Math.max(1, Math.floor(threads / decoderCount));
  const frameGraphs = graphPaths(model, FRAME_GRAPHS);
  const graph = denoisingGraph(model);
  const [clip, ...decoders] = await Promise.all([
    openSessions(
      { graphs: graphPaths(model, [...CLIP_GRAPHS, graph]), threads, providers, keeps: STEP_KEEPS },
      onRun,
    ),
    ...Array.from({ length: decoderCount }, () =>
      openSessions({ graphs: frameGraphs, threads: decoderThreads, providers }, onRun),
    ),
  ]);
  const close = async () => {
    await Promise.all([clip, ...decoders].map((thread) => thread.close()));
  };
  const denoising = { graph, batch: createBatch(graph, clip) };
  return { id: model.id, settings, clip, denoising, decoders, decoding: createMutex(), close };
}

/** On WebGPU the sampler's loop would run on the CPU, and its tensors cross with every step. */
function denoisingGraph({ files, execution }: ModelPackage): Denoising["graph"] {
  const sampler = execution.providers[0] === "webgpu" ? STEP_ROLE : "sampler";
  return sampler in files ? sampler : "denoiser";
}

function createBatch(graph: Denoising["graph"], clip: SessionThread): StepBatch {
  const alone = (feeds: Tensors) => clip.run(graph, feeds);
  if (graph === "denoiser") return createStepBatch({ run: alone, maxRows: 2 * MAX_DENOISED });
  const run = graph === STEP_ROLE ? chainSteps(clip) : alone;
  return createMultiStepBatch({ run, maxRows: MAX_DENOISED, nowMs: () => performance.now() });
}
