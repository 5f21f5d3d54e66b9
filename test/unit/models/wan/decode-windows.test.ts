import { describe, expect, test } from "vitest";
import { planWindows } from "#framemill/models/wan/decoder.js";

describe("windows of latent frames", () => {
  const stride = 4;
  const cases = [17, 21, 41].flatMap((latents) =>
    [
      [3, 1],
      [3, 2],
      [5, 3],
      [13, 7],
      [21, 11],
    ].map(([window = 0, overlap = 0]) => ({ latents, window, overlap })),
  );

  test.each(cases)("$window with $overlap seen again cover $latents, each frame once", (given) => {
    const { latents, window, overlap } = given;
    const windows = planWindows(latents, { window, overlap, stride });
    let frames = 0;
    for (const [index, { first, end, frame, skipped }] of windows.entries()) {
      expect(end - first).toBe(window);
      expect(frame).toBe(frames);
      const seenAgain = index === 0 ? overlap : (windows[index - 1]?.end ?? 0) - first;
      expect(seenAgain).toBeGreaterThanOrEqual(overlap);
      // A run's first frame is of its first latent frame, and each of the others has four.
      expect(skipped).toBe(index === 0 ? 0 : frame - stride * first);
      expect(skipped).toBeGreaterThanOrEqual(index === 0 ? 0 : 1 + stride * (overlap - 1));
      frames += 1 + stride * (window - 1) - skipped;
    }
    expect(windows.at(-1)?.end).toBe(Math.max(latents, window));
    expect(frames).toBe(1 + stride * (Math.max(latents, window) - 1));
  });

  test("is one where the clip fits", () => {
    expect(planWindows(21, { window: 21, overlap: 11, stride })).toHaveLength(1);
    expect(planWindows(17, { window: 21, overlap: 11, stride })).toHaveLength(1);
  });
});
