import { describe, expect, test } from "vitest";
import { stageDistributions } from "#framemill/bench/suites/pipeline-runs.js";

const run = (role: string, startedAtMs: number, endedAtMs: number, receivedAtMs = endedAtMs) => ({
  role,
  startedAtMs,
  endedAtMs,
  receivedAtMs,
});

describe("stages of a clip", () => {
  test("count runs side by side once, and the way back from every run", () => {
    const clip = {
      loadSeconds: 0.5,
      tailSeconds: 0.1,
      totalSeconds: 1,
      runs: [
        run("text-encoder", 0, 10, 12),
        run("denoiser", 10, 50),
        run("denoiser", 60, 100),
        run("scene-decoder", 100, 120),
        run("frame-decoder", 120, 200),
        run("frame-decoder", 130, 220, 225),
      ],
    };
    const p50 = Object.fromEntries(stageDistributions([clip]).map((it) => [it.what, it.p50]));
    expect(p50).toMatchObject({
      load: 500,
      "text encoder": 10,
      denoise: 80,
      decode: 120,
      "mux tail": 100,
      "clip, without a queue": 1_000,
    });
    expect(Object.values(p50)).toContain(7);
  });
});
