import { JobError } from "../../core/errors.js";
import { findOutput, findPorts } from "../diffusion/graph-ports.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import type { LatentDims } from "./denoiser.js";
import type { WanSettings } from "./settings.js";

/** Frames as the decoder makes them: RGB in about [-1, 1], float32 [3, frames, height, width]. */
export interface DecodedFrames {
  readonly values: Float32Array;
  readonly frameCount: number;
  readonly height: number;
  readonly width: number;
}

export interface WanDecoder {
  /** Latent frames that every run takes; absent where it takes any number. */
  readonly windowLatents: number | undefined;
  /** `latents` [channels, frames, rows, columns] as the denoiser made them. */
  decode(latents: Float32Array, dims: LatentDims): Promise<DecodedFrames>;
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
export async function openDecoder(
  sessions: SessionThread,
  settings: WanSettings,
): Promise<WanDecoder> {
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
    quiet = false,
  ): Promise<DecodedFrames> => {
    const feeds = { [port.name]: float32(values, [1, ...dims]) };
    const outputs = await sessions.run("vae-decoder", feeds, { fetch: [output], quiet });
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
