import { describe, expect, test } from "vitest";
import {
  DRAWN,
  drawsOnce,
  flowLevel,
  levelAtTimestep,
  mixed,
  NO_NOISE,
  NOISE,
  type NoiseLevel,
  openScheduler,
  PICTURE,
  shiftedLevel,
  sigmaAtTimestep,
  takeStep,
  unscaledLevel,
} from "../../../../support/noise-levels.js";

/** After the point, of values up to 20 that are float32. */
const DIGITS = 4;

/**
 * What is known of a sample at the level `to` from the picture and a noisier sample at the level `from`:
 * Bayes' rule for two normal distributions, each weighed by its precision.
 */
function posterior(from: NoiseLevel, to: NoiseLevel, noisier: number) {
  const kept = from.signal / to.signal;
  const added = from.noise ** 2 - (kept * to.noise) ** 2;
  const precision = 1 / to.noise ** 2 + kept ** 2 / added;
  const mean = (to.signal * PICTURE) / to.noise ** 2 + (kept * noisier) / added;
  return to.noise === 0
    ? { mean: to.signal * PICTURE, deviation: 0 }
    : { mean: mean / precision, deviation: 1 / Math.sqrt(precision) };
}

describe("a sampler that draws anew at each step", () => {
  test.each([
    {
      name: "DDPM",
      config: { _class_name: "DDPMScheduler", clip_sample: false },
      timesteps: [750, 500, 250, 0],
      levels: [...[750, 500, 250, 0].map(levelAtTimestep), NO_NOISE],
    },
    {
      name: "Euler ancestral",
      config: { _class_name: "EulerAncestralDiscreteScheduler" },
      timesteps: [999, 666, 333, 0],
      levels: [...[999, 666, 333, 0].map(sigmaAtTimestep), 0].map(unscaledLevel),
    },
    {
      name: "DPM-Solver++",
      config: { _class_name: "DPMSolverMultistepScheduler", algorithm_type: "sde-dpmsolver++" },
      timesteps: [999, 749, 500, 250],
      levels: [...[999, 749, 500, 250].map(levelAtTimestep), NO_NOISE],
    },
  ])("draws, as $name, what the picture and the sample leave open", (way) => {
    const scheduler = openScheduler(way.config);
    expect(scheduler.timesteps).toEqual(way.timesteps);
    for (const [index, to] of way.levels.slice(1).entries()) {
      const from = way.levels[index] ?? NO_NOISE;
      const sample = mixed(from);
      const result = takeStep(scheduler, index, [sample, NOISE], drawsOnce);
      const { mean, deviation } = posterior(from, to, sample);
      expect(result.sample).toBeCloseTo(mean + deviation * DRAWN, DIGITS);
    }
  });
});

describe("a sampler of models that were taught to jump", () => {
  const taught = { original_inference_steps: 50, clip_sample: false };
  const jumps = [999, 759, 499, 259];

  // The published scaling of timesteps, and one at which little is left of the model's answer.
  test.each([10, 0.001])(
    "takes, as LCM at %d, a consistency model's answer and puts noise to it anew",
    (scaling) => {
      const config = { _class_name: "LCMScheduler", ...taught, timestep_scaling: scaling };
      const scheduler = openScheduler(config);
      expect(scheduler.timesteps).toEqual(jumps);
      for (const [index, timestep] of jumps.entries()) {
        const sample = mixed(levelAtTimestep(timestep));
        const result = takeStep(scheduler, index, [sample, NOISE], drawsOnce);
        // Song et al. 2023, appendix C, of data that deviate by 0.5.
        const [time, spread] = [scaling * timestep, (scaling * timestep) ** 2 + 0.25];
        const answer = (0.25 / spread) * sample + (time / Math.sqrt(spread)) * PICTURE;
        const next = jumps[index + 1];
        const { signal, noise } = next === undefined ? NO_NOISE : levelAtTimestep(next);
        expect(result.clean).toBeCloseTo(answer, DIGITS);
        expect(result.sample).toBeCloseTo(signal * answer + noise * DRAWN, DIGITS);
      }
    },
  );

  test("jumps, as TCD, below the next level and comes up to it with new noise", () => {
    const scheduler = openScheduler({ _class_name: "TCDScheduler", ...taught });
    expect(scheduler.timesteps).toEqual(jumps);
    // 0.7 of the next timestep, rounded down; the last jump ends at the first trained level.
    const below = [531, 349, 181, 0].map(levelAtTimestep);
    for (const [index, timestep] of jumps.entries()) {
      const sample = mixed(levelAtTimestep(timestep));
      const result = takeStep(scheduler, index, [sample, NOISE], drawsOnce);
      const low = below[index] ?? NO_NOISE;
      const next = jumps[index + 1];
      const { signal } = next === undefined ? low : levelAtTimestep(next);
      const kept = signal / low.signal;
      expect(result.sample).toBeCloseTo(
        kept * mixed(low) + Math.sqrt(1 - kept ** 2) * DRAWN,
        DIGITS,
      );
    }
  });

  test.each([
    { _class_name: "FlowMatchLCMScheduler" },
    { _class_name: "FlowMatchEulerDiscreteScheduler", stochastic_sampling: true },
  ])("goes, as %j, through the clean picture and puts noise to it anew", (config) => {
    const sigmas = [1, 0.75, 0.5, 0.25];
    const scheduler = openScheduler({ ...config, shift: 5 }, { sigmas });
    const levels = [...sigmas, 0].map((sigma) => flowLevel(shiftedLevel(sigma, 5)));
    for (const [index, goal] of levels.slice(1).entries()) {
      const sample = mixed(levels[index] ?? NO_NOISE);
      const result = takeStep(scheduler, index, [sample, NOISE - PICTURE], drawsOnce);
      const expected = goal.signal * PICTURE + goal.noise * DRAWN;
      expect(result.sample).toBeCloseTo(expected, DIGITS);
    }
  });
});
