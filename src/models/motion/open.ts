import { join } from "node:path";
import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { cutNotes } from "../diffusion/prompt-encoders.js";
import { wordsOf } from "../tokenizer/hashed-ngrams.js";
import { readFirstFrame } from "../video/first-frame.js";
import type { Clip, ClipRequest, DecodeFrames, VideoModel } from "../video/video-model.js";
import { decodeCanvas, type Picture, planesOf } from "./canvas.js";
import { decodeScene, decodeWindows } from "./decode-frames.js";
import { denoise, encodePrompts, latentLength } from "./denoise.js";
import { type MotionModel, openMotionModel } from "./model.js";
import { float32, floatsOf, uint8 } from "../../runtime/tensors/tensor.js";
import { planesOfRgb } from "../../media/image.js";
import { gaussianNoise } from "../sampling/noise.js";
import { writeWav } from "../../media/pcm.js";

/** As measured on two cores. */
const DENOISED_FRACTION = 0.3;

/** service-motion-1, this project's own: a canvas that a camera sees, a subject that moves, a sound bed. */
export async function openMotion(model: ModelPackage, setup: PipelineSetup): Promise<VideoModel> {
  const opened = await openMotionModel(model, setup);
  return {
    decoding: opened.decoding,
    denoisedFraction: DENOISED_FRACTION,
    openClip: (request, context) => openClip(opened, request, context),
    close: () => opened.close(),
  };
}

async function openClip(
  model: MotionModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<Clip> {
  const { shapes, sampler, tokenizer } = model.settings;
  const { width, height, seconds } = request;
  const { signal, scratchPath } = context;
  const { states, notes } = await encodePrompts(model, request);
  const picture = await readPicture(model, request, context);
  const frameCount = seconds * shapes.frameRate;
  const length = latentLength(model, request);
  return {
    format: { width, height, frameRate: shapes.frameRate, frameCount },
    notes: [
      ...cutNotes(wordsOf(request.prompt, tokenizer).length, tokenizer.words, "words"),
      ...notes,
    ],
    checkpointKind: { modelId: model.id, steps: sampler.steps, length },
    denoise: (start) =>
      denoise({ model, request, context: states, picture: picture?.tokens ?? null, signal, start }),
    makeSound: () => makeSound(model, request, { states, scratchPath }),
    async paint(sample): Promise<DecodeFrames> {
      const drift = picture ? shapes.imageConditioning.drift : 0;
      const scene = await decodeScene(model, sample, drift);
      const plan = { scene, frameCount, width, height, picture };
      const painted = { ...plan, canvas: await decodeCanvas(model, plan), signal };
      return (onLaunched) => decodeWindows(model, { ...painted, onLaunched });
    },
  };
}

/** The picture to animate, as the denoiser and the frame decoder want it. */
interface ConditioningPicture extends Picture {
  /** Canvas tokens [canvas tokens, channels], float32. */
  readonly tokens: Float32Array;
}

/** What the image encoder sees. */
const SEEN = { rows: 90, columns: 160 };

async function readPicture(
  model: MotionModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<ConditioningPicture | null> {
  const frameOf = await readFirstFrame(request, context);
  if (frameOf === undefined) return null;
  const pixels = planesOfRgb(await frameOf(SEEN.rows, SEEN.columns));
  const outputs = await model.clip.run("image-encoder", {
    pixels: float32(pixels, [1, 3, SEEN.rows, SEEN.columns]),
  });
  return {
    tokens: floatsOf(outputs, "latents"),
    async paint(rows, columns) {
      const planes = toPlanes(await frameOf(rows, columns));
      const picture = uint8(planes, [1, 3, rows, columns]);
      return planesOf(await model.clip.run("picture-canvas", { picture }));
    },
  };
}

/** RGB uint8 [height, width, 3] to [3, height, width]. */
function toPlanes(rgb: Uint8Array): Uint8Array {
  const size = rgb.length / 3;
  const planes = new Uint8Array(rgb.length);
  for (let at = 0; at < size; at++) {
    planes[at] = rgb[3 * at] ?? 0;
    planes[size + at] = rgb[3 * at + 1] ?? 0;
    planes[2 * size + at] = rgb[3 * at + 2] ?? 0;
  }
  return planes;
}

/** Keeps the sound's noise apart from the picture's, which starts at the seed itself. */
const SOUND_SEED_OFFSET = 0x50_0d;

interface SoundInput {
  /** Text states of the prompt, then of the negative prompt. */
  readonly states: Float32Array;
  readonly scratchPath: string;
}

/** Writes the clip's stereo sound bed to a WAV file in the scratch folder; returns its path. */
async function makeSound(
  model: MotionModel,
  request: ClipRequest,
  { states, scratchPath }: SoundInput,
): Promise<string> {
  const sampleRateHz = model.settings.shapes.sampleRateHz;
  const samples = request.seconds * sampleRateHz;
  const noise = gaussianNoise(request.seed + SOUND_SEED_OFFSET, 2 * samples);
  const outputs = await model.clip.run("sound", {
    encoder_hidden_states: float32(states.slice(0, states.length / 2), [1, 8, 48]),
    noise: float32(noise, [1, 2, samples]),
  });
  const path = join(scratchPath, "sound.wav");
  await writeWav(path, floatsOf(outputs, "waveform"), {
    channels: 2,
    sampleRateHz,
  });
  return path;
}
