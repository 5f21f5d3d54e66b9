import { describe, expect, test } from "vitest";
import { DENOISER_INPUTS, findPorts } from "#framemill/models/diffusion/graph-ports.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { stubGraphs } from "../../../support/stub-graphs.js";
import { float32, type GraphInfo } from "#framemill/runtime/tensors/tensor.js";
import { diffuse, type DiffuseInput } from "#framemill/modalities/image/diffuse.js";
import { stableDiffusion } from "#framemill/models/stable-diffusion/unet.js";
import type { ImageModel } from "#framemill/models/image-model.js";
import { zeros } from "#framemill/models/diffusion/image-architecture.js";

const denoiser: GraphInfo = {
  inputs: [
    { name: "sample", type: "float32", dims: ["batch", 4, "height", "width"] },
    { name: "timestep", type: "float32", dims: [] },
    { name: "encoder_hidden_states", type: "float32", dims: ["batch", "tokens", 2] },
  ],
  outputs: [{ name: "out_sample", type: "float32", dims: ["batch", 4, "height", "width"] }],
};

/** A model whose denoiser says the same value everywhere. */
function modelThatSays(value: number, runs: string[]): ImageModel {
  const sessions = stubGraphs({ denoiser }, async (role, feeds) => {
    runs.push(role);
    const dims = feeds["sample"]?.dims ?? [];
    const length = dims.reduce((product, size) => product * size, 1);
    return { out_sample: float32(new Float32Array(length).fill(value), dims) };
  });
  const scheduler = parseSchedulerConfig({ _class_name: "DDIMScheduler" });
  const ports = findPorts(denoiser, DENOISER_INPUTS);
  const traits = stableDiffusion.traits({
    denoiser: { in_channels: 4 },
    ports,
    scheduler: { className: scheduler.className, spacing: undefined },
    isDistilled: false,
  });
  const unused = { encoders: undefined, autoencoder: undefined } as never as Pick<
    ImageModel,
    "encoders" | "autoencoder"
  >;
  return {
    ...unused,
    architecture: stableDiffusion,
    traits,
    scheduler,
    sessions,
    ports,
    factor: 8,
    native: { width: 64, height: 64 },
    encodesPictures: false,
    zeroesEmptyPrompt: false,
    close: async () => {},
  };
}

function inputOf(model: ImageModel, signal: AbortSignal): DiffuseInput {
  return {
    model,
    conditions: [{ context: zeros([1, 3, 2]) }, { context: zeros([1, 3, 2]) }],
    guidance: 7,
    grid: { channels: 4, height: 2, width: 2 },
    width: 16,
    height: 16,
    steps: 5,
    noise: (length) => new Float32Array(length).fill(1),
    signal,
  };
}

describe("the way from noise to latents", () => {
  test("runs the denoiser once a step, for the prompt and against it", async () => {
    const runs: string[] = [];
    const steps = diffuse(inputOf(modelThatSays(0.1, runs), new AbortController().signal));
    const seen = [];
    for await (const { step, steps: all } of steps) seen.push(`${step}/${all}`);
    expect(seen).toEqual(["1/5", "2/5", "3/5", "4/5", "5/5"]);
    expect(runs).toHaveLength(5);
  });

  test("ends in invalid_output where a value is not a number", async () => {
    const steps = diffuse(inputOf(modelThatSays(Number.NaN, []), new AbortController().signal));
    await expect(steps.next()).rejects.toMatchObject({ code: "invalid_output" });
  });

  test("runs nothing more once it is cancelled", async () => {
    const runs: string[] = [];
    const abort = new AbortController();
    const steps = diffuse(inputOf(modelThatSays(0.1, runs), abort.signal));
    await steps.next();
    abort.abort();
    await expect(steps.next()).rejects.toThrow(/abort/i);
    expect(runs).toHaveLength(1);
  });
});
