import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { createScheduler } from "#framemill/models/diffusion/schedulers/create-scheduler.js";
import type { Scheduler } from "#framemill/models/diffusion/schedulers/scheduler.js";
import { deviation, reportDeviation } from "../../support/npy.js";
import {
  describeWithModels,
  hasPublishedModels,
  publishedModel,
} from "../../support/published-models.js";

interface GoldenCase {
  readonly class: string;
  readonly config: object;
  readonly set_timesteps: {
    readonly num_inference_steps?: number;
    readonly sigmas?: number[];
    readonly mu?: number;
  };
  readonly timesteps: number[];
  readonly init_noise_sigma: number;
  readonly x0: number[];
  readonly noise: number[][];
  readonly steps: number[][];
}

/** Of values up to about 20, in float32 by the reference (diffusers 0.40.0.dev0), double here. */
const TOLERANCE = 1e-5;

const cases = hasPublishedModels ? await readCases() : {};

async function readCases(): Promise<Record<string, GoldenCase>> {
  const text = await readFile(publishedModel("tiny-official", "scheduler-goldens.json"), "utf8");
  return JSON.parse(text.replaceAll("-Infinity", "null")).cases;
}

describeWithModels("schedulers follow the reference's trajectories", () => {
  test("all 25 are read", () => {
    expect(Object.keys(cases)).toHaveLength(25);
  });

  test.each(Object.keys(cases))("%s", (name) => {
    const golden = cases[name] as GoldenCase;
    const scheduler = create(golden);
    expect(deviation(scheduler.timesteps, golden.timesteps)).toBeLessThan(1e-3);
    expect(Math.abs(scheduler.initialNoiseSigma - golden.init_noise_sigma)).toBeLessThan(1e-4);
    const draws = golden.noise.values();
    const noise = () => Float32Array.from(draws.next().value ?? []);
    let sample = Float32Array.from(golden.x0);
    for (const [index, expected] of golden.steps.entries()) {
      const input = scheduler.scaleInput(sample, index);
      const output = input.map((value, k) => 0.4 * value + 0.2 * Math.cos(index + k));
      sample = new Float32Array(scheduler.step(output, index, sample, noise).sample);
      expect(deviation(sample, expected), `step ${index}`).toBeLessThan(TOLERANCE);
    }
    expect(draws.next().done, "draws as much noise as the reference").toBe(true);
    reportDeviation(name, deviation(sample, golden.steps.at(-1) ?? []));
  });
});

function create(golden: GoldenCase): Scheduler {
  const { num_inference_steps, sigmas, mu } = golden.set_timesteps;
  return createScheduler(parseSchedulerConfig({ _class_name: golden.class, ...golden.config }), {
    steps: num_inference_steps ?? sigmas?.length ?? 0,
    ...(sigmas && { sigmas }),
    ...(mu !== undefined && { mu }),
  });
}
