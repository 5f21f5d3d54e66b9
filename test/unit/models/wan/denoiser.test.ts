import { describe, expect, test } from "vitest";
import type { Tensor } from "#framemill/runtime/tensors/tensor.js";
import { createDenoiser } from "#framemill/models/wan/denoiser.js";

/** A graph that answers the mean of the prompt beside the timestep, row by row, and notes what it was fed. */
function graph(batch: number | string, timestep: readonly (number | string)[]) {
  const fed: Record<string, readonly number[]>[] = [];
  const type = "float32" as const;
  const inputs = [
    { name: "latents", type, dims: [batch, 1, "f", "h", "w"] },
    { name: "time", type, dims: timestep },
    { name: "states", type, dims: [batch, "s", 2] },
  ];
  const outputs = [{ name: "sample", type, dims: [batch, 1, "f", "h", "w"] }];
  const sessions = {
    info: { denoiser: { inputs, outputs } },
    async run(_role: string, feeds: object) {
      const tensors = Object.entries(feeds) as [string, Tensor][];
      fed.push(Object.fromEntries(tensors.map(([name, { dims }]) => [name, dims])));
      const data = (name: string) => tensors.find(([found]) => found === name)?.[1];
      const dims = data("latents")?.dims ?? [];
      const states = data("states")?.data ?? [];
      const times = data("time")?.data ?? [];
      const values = Array.from({ length: dims[0] ?? 0 }, (_, row) => [
        Number(times[row]),
        (Number(states[2 * row]) + Number(states[2 * row + 1])) / 2,
      ]);
      return { sample: { type, data: Float32Array.from(values.flat()), dims } };
    },
  };
  return { fed, denoise: createDenoiser(sessions, "denoiser") };
}

const question = {
  sample: Float32Array.of(5, 6),
  dims: [1, 2, 1, 1],
  timestep: 900,
  prompts: [
    { values: Float32Array.of(1, 3), tokens: 1 },
    { values: Float32Array.of(4, 4), tokens: 1 },
  ],
} as const;

describe("a denoiser of clips", () => {
  test("answers for both prompts in one run where its graph leaves the batch free", async () => {
    const { fed, denoise } = graph("batch", ["batch"]);
    expect([...(await denoise(question))]).toEqual([900, 2, 900, 4]);
    expect(fed).toEqual([{ latents: [2, 1, 2, 1, 1], time: [2], states: [2, 1, 2] }]);
  });

  test.each([
    [1, [1], [1]],
    ["batch", [], []],
  ])(
    "answers for one at a time where batch is %s and the timestep %j",
    async (batch, dims, time) => {
      const { fed, denoise } = graph(batch, dims);
      expect([...(await denoise(question))]).toEqual([900, 2, 900, 4]);
      const row = { latents: [1, 1, 2, 1, 1], time, states: [1, 1, 2] };
      expect(fed).toEqual([row, row]);
    },
  );

  test("must take latents, time and prompt", () => {
    const sessions = { info: { denoiser: { inputs: [], outputs: [] } }, run: async () => ({}) };
    expect(() => createDenoiser(sessions, "denoiser")).toThrow("latents, timestep and prompt");
  });
});
