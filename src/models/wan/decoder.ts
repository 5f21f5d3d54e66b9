import { JobError } from "../../core/errors.js";
import type { ClipFormat } from "../../media/encoder.js";
import type { RgbFrames } from "../../media/i420.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import { findOutput, findPorts } from "../diffusion/graph-ports.js";
import { piecesOf } from "../video/frame-pieces.js";
import type { FrameWindow } from "../video/video-model.js";
import type { LatentDims } from "./denoiser.js";
import type { WanSettings } from "./settings.js";

export interface WanDecoder {
  /** Latent frames that every run takes; absent where it takes any number. */
  readonly windowLatents: number | undefined;
  /** `latents` [channels, frames, rows, columns] as the denoiser made them. */
  decode(latents: Float32Array, dims: LatentDims): Promise<RgbFrames>;
}

const ROLES = { latents: { names: ["latent_sample", "latent", "latents", "z"], ranks: [5] } };
const OUTPUTS = ["sample", "images"];

/** More latent frames than the longest clip has, of few pixels. */
const PROBED_LATENTS = 64;
const PROBED_SIDE = 2;

/**
 * The graph vae-decoder. An exported decoder is a loop over latent frames that was unrolled: whatever
 * its declared dimensions say, it reads so many and leaves out the rest, so it is tried once.
 */
export async function openDecoder(sessions: Graphs, settings: WanSettings): Promise<WanDecoder> {
  const { shapes, channels, mean, std } = settings;
  const graph = sessions.info["vae-decoder"] ?? { inputs: [], outputs: [] };
  const { latents: port } = findPorts(graph, ROLES);
  if (port === undefined)
    throw new Error(
      "the graph vae-decoder must have an input of latents [batch, channels, frames, rows, columns]",
    );
  const output = findOutput(graph, OUTPUTS);
  const run = async (
    values: Float32Array,
    dims: LatentDims,
    isQuiet = false,
  ): Promise<RgbFrames> => {
    const feeds = { [port.name]: float32(values, [1, ...dims]) };
    const outputs = await sessions.run("vae-decoder", feeds, { fetch: [output], isQuiet });
    const [, , frameCount = 0, height = 0, width = 0] = outputs[output]?.dims ?? [];
    return { values: floatsOf(outputs, output), frameCount, height, width };
  };
  const framesOf = (latents: number) => 1 + shapes.temporalStride * (latents - 1);
  const probe = async (): Promise<number | undefined> => {
    const declared = port.dims[2];
    if (typeof declared === "number" && declared > 0) return declared;
    const dims = [channels, PROBED_LATENTS, PROBED_SIDE, PROBED_SIDE] as const;
    const size = channels * PROBED_LATENTS * PROBED_SIDE ** 2;
    const { frameCount } = await run(new Float32Array(size), dims, true).catch((cause) => {
      const what = `the graph vae-decoder does not run on ${dims.join(" × ")} latents`;
      throw new Error(`${what}: state shapes.windowLatents in model.json`, { cause });
    });
    return frameCount === framesOf(PROBED_LATENTS)
      ? undefined
      : 1 + Math.floor((frameCount - 1) / shapes.temporalStride);
  };
  return {
    windowLatents: shapes.windowLatents ?? (await probe()),
    async decode(latents, dims) {
      const size = latents.length / channels;
      const scaled = latents.map((value, at) => {
        const channel = Math.floor(at / size);
        return value * (std[channel] ?? 1) + (mean[channel] ?? 0);
      });
      const decoded = await run(scaled, dims);
      const expected = framesOf(dims[1]);
      if (decoded.frameCount === expected) return decoded;
      const made = `the decoder made ${decoded.frameCount} frames of ${dims[1]} latent frames`;
      throw new JobError(
        "invalid_output",
        `${made}, ${expected} are expected: see shapes.windowLatents`,
      );
    },
  };
}

interface DecodingModel {
  readonly decoder: WanDecoder;
  readonly settings: WanSettings;
}

/** Latent frames of one run of the decoder, and which of its frames are new. */
interface LatentWindow {
  /** Latent frames [first, end); those beyond the clip's repeat its last. */
  readonly first: number;
  readonly end: number;
  /** Number in the clip of the first new frame, and its place among those of the run. */
  readonly frame: number;
  readonly skipped: number;
}

interface WindowRule {
  /** Latent frames of a run. */
  readonly window: number;
  /** Latent frames at the beginning of a later window that the one before it had, at least. */
  readonly overlap: number;
  /** Frames of each latent frame after the first of a run, which gives one. */
  readonly stride: number;
}

/**
 * Runs that cover all latent frames. The decoder looks back only, so that a clip shorter than a window
 * is filled up at its end, and what a later window sees again are the latents before its new ones: as
 * few windows as there can be, overlapping as much as they can.
 */
export function planWindows(
  latents: number,
  { window, overlap, stride }: WindowRule,
): LatentWindow[] {
  const later = Math.max(0, Math.ceil((latents - window) / (window - overlap)));
  const windows: LatentWindow[] = [{ first: 0, end: window, frame: 0, skipped: 0 }];
  for (let index = 1, known = window; index <= later; index += 1) {
    const first = Math.round((index * (latents - window)) / later);
    const frame = 1 + stride * (known - 1);
    windows.push({ first, end: first + window, frame, skipped: frame - stride * first });
    known = first + window;
  }
  return windows;
}

interface WindowsInput {
  readonly sample: Float32Array;
  readonly dims: LatentDims;
  readonly format: ClipFormat;
  readonly signal: AbortSignal;
  readonly onLaunched: () => void;
}

/** Decodes window by window; the next one is in the making while the caller takes the frames of the last. */
export async function* decodeWindows(
  { decoder, settings }: DecodingModel,
  { sample, dims, format, signal, onLaunched }: WindowsInput,
): AsyncGenerator<FrameWindow> {
  const windows = planWindows(dims[1], windowRule({ decoder, settings }, dims[1]));
  const launch = (index: number): Promise<RgbFrames> | undefined => {
    const window = windows[index];
    if (window === undefined) return undefined;
    const run = decoder.decode(...cutLatents(sample, dims, window));
    // It is awaited in its turn.
    run.catch(() => {});
    if (index === windows.length - 1) onLaunched();
    return run;
  };
  signal.throwIfAborted();
  let running = launch(0);
  for (const [index, window] of windows.entries()) {
    const decoded = await running;
    signal.throwIfAborted();
    running = launch(index + 1);
    if (decoded) yield* piecesOf(decoded, window, format);
  }
}

function windowRule({ decoder, settings }: DecodingModel, latents: number): WindowRule {
  const { overlapLatents, temporalStride: stride } = settings.shapes;
  const window = decoder.windowLatents ?? latents;
  const overlap = Math.min(window - 1, overlapLatents ?? Math.ceil(window / 2));
  return { window, overlap, stride };
}

/** The window's latents [channels, frames, rows, columns], and their dimensions. */
function cutLatents(
  sample: Float32Array,
  [channels, frames, rows, columns]: LatentDims,
  { first, end }: LatentWindow,
): [Float32Array, LatentDims] {
  const size = rows * columns;
  const count = end - first;
  const cut = new Float32Array(channels * count * size);
  for (let channel = 0; channel < channels; channel += 1) {
    for (let at = 0; at < count; at += 1) {
      const from = channel * frames + Math.min(first + at, frames - 1);
      const frame = sample.subarray(from * size, (from + 1) * size);
      cut.set(frame, (channel * count + at) * size);
    }
  }
  return [cut, [channels, count, rows, columns]];
}
