import type { Artifact } from "../../core/artifact.js";
import type { Mutex } from "../../core/async/mutex.js";
import type { PipelineContext } from "../../core/modality.js";
import type { ClipFormat } from "../../media/encoder.js";
import type { CheckpointKind, DenoiseState } from "./checkpoint.js";

/** Consecutive frames, I420 uint8 [count, height × 3/2, width]; valid until the next window is asked for. */
export interface FrameWindow {
  readonly firstFrame: number;
  readonly count: number;
  readonly frames: Uint8Array;
}

/**
 * Frames in order, window by window. Calls `onLaunched` when the last window is in the making: the
 * decoder can be given other work.
 */
export type DecodeFrames = (onLaunched: () => void) => AsyncGenerator<FrameWindow>;

/** What a clip is made from. */
export interface ClipRequest {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly seconds: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Same seed, same model, same inputs: same frames. */
  readonly seed: number;
  /** The picture to animate. */
  readonly image: Artifact | null;
  /** `contain`, when left out: whole, its own blur in the border · `cover`: what reaches over the frame is cut off. */
  readonly fit?: "contain" | "cover";
}

/** One clip in the making: its prompts are encoded, its picture is read. */
export interface Clip {
  /** Frames as the decoder makes them; where the tier has another size, they are scaled as they are encoded. */
  readonly format: ClipFormat;
  readonly checkpointKind: CheckpointKind;
  /** What was not understood of the prompt, in sentences for the caller. */
  readonly notes?: readonly string[];
  /** Yields where it stands after each run of the model; returns the finished latents. */
  denoise(start: DenoiseState | undefined): AsyncGenerator<DenoiseState, Float32Array>;
  /** Writes the sound of finished latents to a WAV file in the scratch folder; returns its path. */
  readonly makeSound?: (sample: Float32Array) => Promise<string>;
  /** Makes of finished latents what all frames share. */
  paint(sample: Float32Array): Promise<DecodeFrames>;
}

/** An open package, whatever its family. */
export interface VideoModel {
  /** One clip's windows are decoded before the next one's. */
  readonly decoding: Mutex;
  /** Share of a clip's time until its latents are finished: it turns stages into one true progress. */
  readonly denoisedFraction: number;
  openClip(request: ClipRequest, context: PipelineContext): Promise<Clip>;
  close(): Promise<void>;
}
