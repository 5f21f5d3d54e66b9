import { describe, expect, it, vi } from "vitest";
import { every } from "#framemill/core/async/every.js";

/** Only a broken test waits this long. */
const SOON = { timeout: 60_000, interval: 5 };

describe("every", () => {
  it("never runs concurrently, and runs once more when woken meanwhile", async () => {
    let [running, most, runs] = [0, 0, 0];
    const repeating = every({
      intervalMs: 1_000_000,
      async run() {
        runs += 1;
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
      },
      onError: () => undefined,
    });
    for (let index = 0; index < 5; index += 1) repeating.wake();
    await expect.poll(() => running, SOON).toBe(0);
    await repeating.stop();
    expect([most, runs]).toEqual([1, 2]);
  });

  it("rests longer and longer while there is nothing to do, until it is stirred", async () => {
    vi.useFakeTimers();
    const times: number[] = [];
    const run = async () => {
      times.push(Date.now());
      return "idle" as const;
    };
    const repeating = every({ intervalMs: 1_000, restMs: 5_000, run, onError: () => undefined });
    await vi.advanceTimersByTimeAsync(17_500);
    repeating.stir();
    await vi.advanceTimersByTimeAsync(1_000);
    await repeating.stop();
    vi.useRealTimers();
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([
      0, 2_000, 6_000, 11_000, 16_000, 18_500,
    ]);
  });

  it("continues after a failed run", async () => {
    const errors: unknown[] = [];
    const repeating = every({
      intervalMs: 1,
      run: async () => await Promise.reject(new Error("no")),
      onError: (error) => errors.push(error),
    });
    await expect.poll(() => errors.length, SOON).toBeGreaterThan(2);
    await repeating.stop();
  });
});
