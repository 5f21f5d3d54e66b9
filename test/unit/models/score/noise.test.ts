import { expect, test } from "vitest";
import { createNoise } from "#framemill/models/score/play-notes.js";

const size = { windowSamples: 1_000, contextSamples: 254 };

test("each window begins with the end of the one before, in both channels", () => {
  const noise = createNoise(5, size);
  const [first, second] = [noise.next(), noise.next()];
  for (const start of [0, 1_254])
    expect([...second.subarray(start, start + 254)]).toEqual([
      ...first.subarray(start + 1_000, start + 1_254),
    ]);
});

test("is the same for a seed, another for another, of unit variance", () => {
  const [one, same, other] = [5, 5, 6].map((seed) => createNoise(seed, size).next());
  expect(one).toEqual(same);
  expect(one).not.toEqual(other);
  const power = Array.from(one ?? []).reduce((sum, value) => sum + value * value, 0) / 2_508;
  expect(power).toBeCloseTo(1, 1);
});
