import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createBatchRunner } from "#framemill/runtime/batching/batch-runner.js";

interface Item {
  readonly length: number;
  readonly value: number;
}

const item = (value: number, length = 4): Item => ({ length, value });
const limits = { maxPadded: 64, maxRows: 16, worthwhile: 64, equalLengths: false };
const never = new AbortController().signal;

/** Answers twice the value; 13 is not a number, 99 breaks the whole batch. */
function createSubject(started = () => {}) {
  const batches: number[][] = [];
  const runner = createBatchRunner<Item>({
    limits,
    async runBatch(list) {
      batches.push(list.map(({ value }) => value));
      started();
      await setImmediate();
      if (list.some(({ value }) => value === 99)) throw new Error("the graph failed");
      return list.map(({ value }) => Float32Array.of(value === 13 ? Number.NaN : 2 * value));
    },
  });
  const run = async (values: readonly number[], signal = never) =>
    (
      await runner.run(
        values.map((value) => item(value)),
        signal,
      )
    ).map(([row]) => row);
  return { batches, runner, run };
}

describe("the batch runner", () => {
  test("computes concurrent jobs in one batch and returns each its own rows in order", async () => {
    const { run, batches } = createSubject();
    const results = await Promise.all([run([1, 2]), run([3]), run([5, 4])]);
    expect(results).toEqual([[2, 4], [6], [10, 8]]);
    expect(batches).toHaveLength(1);
  });

  test("shares the waiting items among its threads, with a batch ready for the first free one", async () => {
    let running = 0;
    let most = 0;
    const sizes: number[] = [];
    const runner = createBatchRunner<Item>({
      limits,
      lanes: 2,
      async runBatch(list) {
        sizes.push(list.length);
        running += 1;
        most = Math.max(most, running);
        await setImmediate();
        running -= 1;
        return list.map(({ value }) => Float32Array.of(value));
      },
    });
    const values = Array.from({ length: 12 }, (_, value) => value);
    const jobs = values.map((value) => runner.run([item(value)], never));
    const rows = (await Promise.all(jobs)).map(([row]) => row?.[0]);
    expect(rows).toEqual(values);
    expect(most).toBe(3);
    expect(sizes).toEqual([4, 4, 4]);
  });

  test("fails only the job whose numbers are not finite", async () => {
    const { run } = createSubject();
    const [good, bad] = await Promise.allSettled([run([1]), run([2, 13])]);
    expect(good).toMatchObject({ status: "fulfilled", value: [2] });
    expect(bad).toMatchObject({ status: "rejected", reason: { code: "invalid_output" } });
  });

  test("finds the item that breaks a batch and answers the others", async () => {
    const { run } = createSubject();
    const jobs = [1, 2, 99, 3, 4].map((value) => run([value]));
    const settled = await Promise.allSettled(jobs);
    expect(settled.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
  });

  test("drops the waiting items of an aborted job", async () => {
    const abort = new AbortController();
    const { run, batches } = createSubject(() => abort.abort(new Error("cancelled")));
    const values = Array.from({ length: 1_000 }, (_, index) => 1_000 + index);
    const big = run(values, abort.signal);
    const small = run([1]);
    await expect(big).rejects.toThrow("cancelled");
    expect(await small).toEqual([2]);
    expect(batches.flat().length).toBeLessThan(500);
  });

  test("fails waiting items when it is closed", async () => {
    const { run, runner } = createSubject();
    const waiting = run([1]);
    runner.close();
    await expect(waiting).rejects.toMatchObject({ code: "service_unavailable" });
    await expect(run([2])).rejects.toMatchObject({ code: "service_unavailable" });
  });
});
