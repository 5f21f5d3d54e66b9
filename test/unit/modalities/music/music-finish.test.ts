import { expect, test } from "vitest";
import { finishSound } from "#framemill/modalities/music/pipeline.js";

const second = (level: number, channels = 1) => ({
  samples: new Float32Array(32_000 * channels).fill(level),
  channels,
  sampleRateHz: 32_000,
});

test("turns a loud piece down as a whole to 1 dB below full scale, and leaves a soft one", () => {
  expect(finishSound(second(2)).samples[16_000]).toBeCloseTo(10 ** (-1 / 20), 6);
  expect(finishSound(second(-0.5)).samples[16_000]).toBe(-0.5);
});

test("begins and ends both channels softly", () => {
  const { samples } = finishSound(second(0.5, 2));
  for (const channel of [0, 1]) {
    const start = channel * 32_000;
    expect(samples[start]).toBe(0);
    expect(samples[start + 31_999]).toBe(0);
    expect(samples[start + 31_000]).toBeCloseTo(0.5, 6);
  }
});

test("keeps silence silent", () => {
  expect(finishSound(second(0)).samples.every((sample) => sample === 0)).toBe(true);
});
