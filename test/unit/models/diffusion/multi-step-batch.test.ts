import { describe, expect, test } from "vitest";
import type { Rows } from "#framemill/runtime/batching/step-batch.js";
import { createMultiStepBatch } from "#framemill/models/diffusion/multi-step-batch.js";
import { float32, floatsOf, type Tensors } from "#framemill/runtime/tensors/tensor.js";

/** Adds the guidances of the steps that a run takes; each step takes so long. */
function recorded(msPerStep: number) {
  const taken: string[] = [];
  let clockMs = 0;
  const run = async (feeds: Tensors): Promise<Tensors> => {
    const [rows = 0, steps = 0] = feeds["guidances"]?.dims ?? [];
    expect(feeds["sigmas"]?.dims).toEqual([rows, steps + 1]);
    const guidances = floatsOf(feeds, "guidances");
    const sums = floatsOf(feeds, "latents").map((value, row) =>
      guidances.subarray(row * steps, (row + 1) * steps).reduce((sum, add) => sum + add, value),
    );
    taken.push(`${rows}x${steps}`);
    clockMs += msPerStep * steps;
    return { denoised: float32(sums, [rows, 1]) };
  };
  return { taken, batch: createMultiStepBatch({ run, maxRows: 8, nowMs: () => clockMs }) };
}

const STEPS = 10;

function clipAt(step: number, value: number): Rows {
  const row = (values: readonly number[]) => {
    return { data: Float32Array.from(values), dims: [1, values.length] };
  };
  const from = (at: number) => Math.max(0, STEPS - step - at);
  return {
    latents: row([value]),
    sigmas: row(Array.from({ length: STEPS + 1 }, (_, at) => from(at))),
    guidances: row(Array.from({ length: STEPS }, (_, at) => (at < STEPS - step ? 1 : 0))),
    left: { data: Float32Array.of(STEPS - step), dims: [1] },
  };
}

async function walk(batch: ReturnType<typeof recorded>["batch"], from: number): Promise<number> {
  let [step, value] = [from, 0];
  while (step < STEPS) {
    const { denoised, steps } = await batch.run(clipAt(step, value));
    value = denoised?.data[0] ?? Number.NaN;
    step += steps?.data[0] ?? Number.NaN;
  }
  return value;
}

describe("denoising steps of one run", () => {
  test("are one at first, then as many as fit a quarter of a second", async () => {
    const { taken, batch } = recorded(60);
    expect(await walk(batch, 0)).toBe(10);
    expect(taken).toEqual(["1x1", "1x4", "1x4", "1x1"]);
  });

  test("are one where a step alone takes longer", async () => {
    const { taken, batch } = recorded(900);
    expect(await walk(batch, 7)).toBe(3);
    expect(taken).toEqual(["1x1", "1x1", "1x1"]);
  });

  test("are no more than the clip has left that has the fewest of those that share it", async () => {
    const { taken, batch } = recorded(1);
    await walk(batch, 9);
    expect(await Promise.all([walk(batch, 8), walk(batch, 8), walk(batch, 5)])).toEqual([2, 2, 5]);
    // How long three take is not known at first; then two of them have one step left.
    expect(taken).toEqual(["1x1", "3x1", "3x1", "1x3"]);
  });
});
