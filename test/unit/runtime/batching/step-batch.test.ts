import { describe, expect, test } from "vitest";
import { createStepBatch, type Rows } from "#framemill/runtime/batching/step-batch.js";
import { float32, floatsOf, type Tensors } from "#framemill/runtime/tensors/tensor.js";

/** Adds each row's level to its values; a level of 13 fails. */
async function addLevel(feeds: Tensors): Promise<Tensors> {
  const [values, levels] = [floatsOf(feeds, "sample"), floatsOf(feeds, "level")];
  if (levels.includes(13)) throw new Error("unlucky");
  const size = values.length / levels.length;
  const sums = values.map((value, at) => value + (levels[Math.floor(at / size)] ?? 0));
  return { sum: float32(sums, [levels.length, size]) };
}

function sample(value: number, level: number, size = 3): Rows {
  return {
    sample: { data: new Float32Array(2 * size).fill(value), dims: [2, size] },
    level: { data: Float32Array.of(level, level), dims: [2] },
  };
}

function recorded() {
  const rows: number[] = [];
  const run = async (feeds: Tensors) => {
    rows.push(feeds["level"]?.dims[0] ?? 0);
    return await addLevel(feeds);
  };
  return { rows, batch: createStepBatch({ run, maxRows: 4 }) };
}

describe("steps of several samples", () => {
  test("share a run from the second on, each at its own level", async () => {
    const { rows, batch } = recorded();
    const steps = async (value: number, from: number) => {
      let at = value;
      for (let level = from; level < from + 3; level += 1)
        at = (await batch.run(sample(at, level)))["sum"]?.data[5] ?? Number.NaN;
      return at;
    };
    expect(await Promise.all([steps(100, 1), steps(200, 5)])).toEqual([106, 218]);
    expect(rows).toEqual([2, 4, 4, 2]);
  });

  test("stay apart where their shapes differ or they are too many", async () => {
    const { rows, batch } = recorded();
    const all = [sample(1, 1), sample(2, 1), sample(3, 1), sample(4, 1, 5), sample(5, 1)];
    const sums = await Promise.all(all.map((feeds) => batch.run(feeds)));
    expect(sums.map(({ sum }) => sum?.data.at(-1))).toEqual([2, 3, 4, 5, 6]);
    expect(rows).toEqual([2, 4, 2, 2]);
  });

  test("fail alone", async () => {
    const { batch } = recorded();
    const all = [sample(1, 1), sample(2, 13), sample(3, 1)].map((feeds) => batch.run(feeds));
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});
