import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFairQueue } from "#framemill/runtime/batching/batch-runner.js";

const LIMITS = { maxPadded: 64, maxRows: 8, worthwhile: 8, equalLengths: false };
const items = (job: string, lengths: readonly number[]) =>
  lengths.map((length, index) => ({ job, index, length }));

function batchesOf<Item>(queue: { takeBatch(maxRows: number): Item[] }): Item[][] {
  const batches: Item[][] = [];
  for (let batch = queue.takeBatch(Infinity); batch.length > 0; batch = queue.takeBatch(Infinity))
    batches.push(batch);
  return batches;
}

describe("the fair queue", () => {
  test("gives out every item once, in batches that fit their padding", () => {
    const jobs = fc.array(fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 30 }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(jobs, fc.boolean(), (lengths, equalLengths) => {
        const queue = createFairQueue<ReturnType<typeof items>[number]>({
          ...LIMITS,
          equalLengths,
        });
        const all = lengths.flatMap((list, job) => items(`${job}`, list));
        lengths.forEach((list, job) => queue.add(items(`${job}`, list)));
        const batches = batchesOf(queue);
        for (const batch of batches) {
          const longest = Math.max(...batch.map(({ length }) => length));
          expect(batch.length === 1 || batch.length * longest <= LIMITS.maxPadded).toBe(true);
          expect(batch.length).toBeLessThanOrEqual(LIMITS.maxRows);
          const differ = new Set(batch.map(({ length }) => length)).size;
          expect(equalLengths ? differ : 1).toBe(1);
        }
        const names = (list: typeof all) => list.map(({ job, index }) => `${job}.${index}`);
        expect(names(batches.flat()).toSorted()).toEqual(names(all).toSorted());
        expect([queue.size, queue.totalLength]).toEqual([0, 0]);
      }),
      { numRuns: 60 },
    );
  });

  test("batches texts of similar length", () => {
    const queue = createFairQueue(LIMITS);
    queue.add(items("a", [4, 60, 5, 4, 30, 31]));
    const padding = batchesOf(queue).flatMap((batch) =>
      batch.map(({ length }) => (batch.at(-1)?.length ?? 0) - length),
    );
    expect(padding.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(4);
  });

  test("serves a small job beside a big one, not after it", () => {
    const queue = createFairQueue<ReturnType<typeof items>[number]>(LIMITS);
    queue.add(items("big", Array(200).fill(8)));
    queue.takeBatch(Infinity);
    queue.add(items("small", [8]));
    const next = [queue.takeBatch(Infinity), queue.takeBatch(Infinity)].flat();
    expect(next.map(({ job }) => job)).toContain("small");
  });
});
