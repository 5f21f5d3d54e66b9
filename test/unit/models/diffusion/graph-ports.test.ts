import { describe, expect, test } from "vitest";
import { DENOISER_INPUTS, findPorts } from "#framemill/models/diffusion/graph-ports.js";
import type { GraphInfo, TensorInfo } from "#framemill/runtime/tensors/tensor.js";

const input = (name: string, rank: number): TensorInfo => ({
  name,
  type: "float32",
  dims: Array.from({ length: rank }, (_, index) => `d${index}`),
});

function rolesOf(...inputs: readonly TensorInfo[]) {
  const graph: GraphInfo = { inputs, outputs: [] };
  const ports = Object.entries(findPorts(graph, DENOISER_INPUTS));
  return Object.fromEntries(ports.map(([role, port]) => [role, port?.name]));
}

describe("the inputs of a denoiser", () => {
  test("are known by the names that exporters give them", () => {
    const unet = [input("sample", 4), input("timestep", 0), input("encoder_hidden_states", 3)];
    expect(rolesOf(...unet, input("text_embeds", 2), input("time_ids", 2))).toEqual({
      sample: "sample",
      timestep: "timestep",
      context: "encoder_hidden_states",
      pooled: "text_embeds",
      timeIds: "time_ids",
    });
    const names = [input("hidden_states", 3), input("timestep", 1), input("img_ids", 2)];
    expect(rolesOf(...names)).toMatchObject({ sample: "hidden_states", imageIds: "img_ids" });
  });

  test("are known by their rank under other names", () => {
    expect(rolesOf(input("latent", 4), input("step", 0), input("text", 3))).toEqual({
      sample: "latent",
      timestep: "step",
      context: "text",
    });
  });

  test("are left out where two would fit", () => {
    expect(rolesOf(input("a", 4), input("b", 4))).toEqual({});
  });
});
