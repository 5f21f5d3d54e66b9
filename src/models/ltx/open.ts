import { join } from "node:path";
import { createMutex } from "../../core/async/mutex.js";
import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { ClipFormat } from "../../media/encoder.js";
import { evenCover, type RgbFrames } from "../../media/i420.js";
import { writeWav } from "../../media/pcm.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { readSchedulerConfig, type SchedulerConfig } from "../diffusion/schedulers/config.js";
import { loadModelTokenizer } from "../tokenizer/text-tokenizer.js";
import { piecesOf } from "../video/frame-pieces.js";
import { readFirstFrame } from "../video/first-frame.js";
import type { Clip, ClipRequest, FrameWindow, VideoModel } from "../video/video-model.js";
import { decodeFrames, decodeSound, encodePicture } from "./decoders.js";
import { denoise, latentDims, latentLengths, planSchedule } from "./denoise.js";
import {
  checkDenoiser,
  createDenoiser,
  createPromptEncoder,
  type EncodePrompt,
  type PromptStates,
} from "./denoiser.js";
import { type LtxSettings, readSettings } from "./settings.js";

/** Not measured: of models of published size, nearly all of the time goes into their steps. */
const DENOISED_FRACTION = 0.85;

/** An open package of the pipeline `ltx-video`. */
export interface LtxModel {
  readonly id: string;
  readonly settings: LtxSettings;
  readonly scheduler: SchedulerConfig;
  readonly encodePrompt: EncodePrompt;
  /** What makes latents of a request. */
  readonly clip: Graphs;
  /** What makes frames and sound of them, while the next clip is denoised. */
  readonly decoders: Graphs;
  close(): Promise<void>;
}

/** LTX-2: picture and sound that are denoised together, from a text or from a picture. */
export async function openLtx(model: ModelPackage, setup: PipelineSetup): Promise<VideoModel> {
  const opened = await openLtxModel(model, setup);
  return {
    decoding: createMutex(),
    denoisedFraction: DENOISED_FRACTION,
    openClip: (request, context) => openClip(opened, request, context),
    close: () => opened.close(),
  };
}

/** Opens the package's graphs. Throws an error that names what is missing, not known or does not load. */
export async function openLtxModel(model: ModelPackage, setup: PipelineSetup): Promise<LtxModel> {
  const settings = await readSettings(model);
  const scheduler = readSchedulerConfig(await readModelText(model, "scheduler-config"));
  // A scheduler that is not known stops the start, not the first request.
  planSchedule(scheduler, settings);
  const tokenizer = await loadModelTokenizer(model);
  const readers = model.files["vae-encoder"] === undefined ? [] : ["vae-encoder"];
  const [clip, decoders] = await Promise.all([
    openModelGraphs(model, ["text-encoder", "connectors", "denoiser", ...readers], setup),
    openModelGraphs(model, ["vae-decoder", "audio-vae-decoder", "vocoder"], setup),
  ]);
  const close = async () => void (await Promise.all([clip.close(), decoders.close()]));
  try {
    checkDenoiser(clip);
    const encodePrompt = createPromptEncoder(clip, tokenizer);
    return { id: model.id, settings, scheduler, encodePrompt, clip, decoders, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function openClip(
  model: LtxModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<Clip> {
  const { settings, decoders } = model;
  const { signal, scratchPath } = context;
  const { native, frameRate } = settings.shapes;
  const dims = latentDims(settings, request);
  const lengths = latentLengths(settings, dims);
  const length = lengths.picture + lengths.sound;
  const scheduler = planSchedule(model.scheduler, settings);
  const prompts = await encodePrompts(model, request);
  const picture = await readPicture(model, request, context);
  const denoiser = createDenoiser(model.clip, settings, dims);
  const [height, width] = native;
  const frameCount = request.seconds * frameRate;
  const format = { ...evenCover({ width, height }, request), frameRate, frameCount };
  const { seed } = request;
  return {
    format,
    notes: prompts[0].notes,
    checkpointKind: { modelId: model.id, steps: settings.sampler.steps, length },
    denoise: (start) =>
      denoise({ denoiser, scheduler, length, prompts, picture, seed, signal, start }),
    async makeSound(sample) {
      const tokens = sample.subarray(lengths.picture);
      const { samples, channels } = await decodeSound(decoders, settings, tokens);
      const path = join(scratchPath, "sound.wav");
      await writeWav(path, samples, { channels, sampleRateHz: settings.sound.sampleRateHz });
      return path;
    },
    paint: async (sample) => (onLaunched) => {
      const tokens = sample.subarray(0, lengths.picture);
      const decode = () => decodeFrames(decoders, settings, tokens, dims);
      return paintFrames(decode, format, onLaunched);
    },
  };
}

async function* paintFrames(
  decode: () => Promise<RgbFrames>,
  format: ClipFormat,
  onLaunched: () => void,
): AsyncGenerator<FrameWindow> {
  const decoding = decode();
  onLaunched();
  yield* piecesOf(await decoding, { frame: 0, skipped: 0 }, format);
}

async function encodePrompts(
  { encodePrompt, settings: { sampler } }: LtxModel,
  { prompt, negativePrompt }: ClipRequest,
): Promise<[PromptStates, ...PromptStates[]]> {
  const states = await encodePrompt(prompt);
  const isGuided = Math.max(sampler.guidance, sampler.audioGuidance) > 1;
  return isGuided ? [states, await encodePrompt(negativePrompt)] : [states];
}

async function readPicture(
  { clip, settings }: LtxModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<Float32Array | undefined> {
  const frameOf = await readFirstFrame(request, context);
  return frameOf && encodePicture(clip, settings, await frameOf(...settings.shapes.native));
}
