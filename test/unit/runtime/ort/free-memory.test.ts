import { expect, test } from "vitest";
import { freeMemory } from "#framemill/runtime/ort/free-memory.js";

const BYTES = 64 * 2 ** 20;

test("freed memory is released at once, and once only", () => {
  const array = new Float32Array(BYTES / 4);
  const part = array.subarray(1, 3);
  const before = process.memoryUsage().arrayBuffers;
  freeMemory(part);
  expect(before - process.memoryUsage().arrayBuffers).toBeGreaterThanOrEqual(BYTES);
  expect([array.length, part.length]).toEqual([0, 0]);
  freeMemory(array);
});
