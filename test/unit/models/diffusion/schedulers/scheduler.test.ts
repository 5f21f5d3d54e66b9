import { describe, expect, test } from "vitest";
import {
  parseSchedulerConfig,
  readSchedulerConfig,
} from "#framemill/models/diffusion/schedulers/config.js";
import { createScheduler } from "#framemill/models/diffusion/schedulers/create-scheduler.js";
import { dynamicShift, fewStepSigmas } from "#framemill/models/diffusion/schedulers/flow-match.js";

const stableDiffusion = {
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
  steps_offset: 1,
};
const onNoise = { algorithm_type: "dpmsolver", final_sigmas_type: "sigma_min" };
/** Evenly spread for the solvers' own variable, so that the order alone tells them apart. */
const even = { ...stableDiffusion, use_exponential_sigmas: true };
const STEPS = 20;
/** Standard deviation of the data whose best denoiser, and whose path, have a formula. */
const DATA = 0.5;

function deviationAt({ signal, noise }: { readonly signal: number; readonly noise: number }) {
  return Math.hypot(signal * DATA, noise);
}

describe("schedulers", () => {
  test("name an unknown class, and a setting that is not read", () => {
    const unknown = parseSchedulerConfig({ _class_name: "KarrasVeScheduler" });
    expect(() => createScheduler(unknown, { steps: 4 })).toThrow(
      "the scheduler KarrasVeScheduler is not known",
    );
    const beta = { _class_name: "EulerDiscreteScheduler", use_beta_sigmas: true };
    expect(() => parseSchedulerConfig(beta)).toThrow("scheduler_config.json: use_beta_sigmas");
  });

  test("read the infinities that Python writes", () => {
    const text = '{"_class_name": "DPMSolverMultistepScheduler", "lambda_min_clipped": -Infinity}';
    expect(readSchedulerConfig(text).className).toBe("DPMSolverMultistepScheduler");
  });

  test("refuse more steps than a distilled model was taught", () => {
    const lcm = parseSchedulerConfig({ _class_name: "LCMScheduler", ...stableDiffusion });
    expect(() => createScheduler(lcm, { steps: 51 })).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "steps" }),
    );
  });

  test.each([
    ["DDIMScheduler", { clip_sample: false }, 0.12],
    ["EulerDiscreteScheduler", {}, 0.09],
    ["LMSDiscreteScheduler", {}, 0.009],
    ["DPMSolverMultistepScheduler", { solver_order: 1 }, 0.09],
    ["DPMSolverMultistepScheduler", { solver_order: 2 }, 0.008],
    ["DPMSolverMultistepScheduler", { solver_order: 2, solver_type: "heun" }, 0.012],
    ["DPMSolverMultistepScheduler", { solver_order: 3 }, 0.003],
    ["DPMSolverMultistepScheduler", { solver_order: 3, ...onNoise }, 0.003],
    ["UniPCMultistepScheduler", { solver_order: 1 }, 0.025],
    ["UniPCMultistepScheduler", { solver_order: 2, solver_type: "bh1" }, 0.007],
    ["UniPCMultistepScheduler", { solver_order: 2 }, 0.004],
    ["UniPCMultistepScheduler", { solver_order: 3 }, 0.001],
    ["UniPCMultistepScheduler", { solver_order: 3, predict_x0: false }, 0.001],
  ])("%s %j follows the known path of Gaussian data to %f", (name, extra, tolerance) => {
    const config = parseSchedulerConfig({ _class_name: name, ...even, ...extra });
    const scheduler = createScheduler(config, { steps: STEPS });
    const { initialNoiseSigma, timesteps } = scheduler;
    let sample: Float32Array = Float32Array.of(initialNoiseSigma);
    const [first = 0] = timesteps;
    const start = (scheduler.scaleInput(sample, 0)[0] ?? 0) / deviationAt(levelOf(first));
    const last = STEPS - 1;
    for (let index = 0; index < last; index += 1) {
      const input = scheduler.scaleInput(sample, index);
      const level = levelOf(timesteps[index] ?? 0);
      const output = input.map((value) => (value * level.noise) / deviationAt(level) ** 2);
      sample = scheduler.step(output, index, sample, () => new Float32Array(1)).sample;
    }
    const arrived = scheduler.scaleInput(sample, last)[0] ?? 0;
    const exact = start * deviationAt(levelOf(timesteps[last] ?? 0));
    expect(Math.abs(arrived / exact - 1)).toBeLessThan(tolerance);
  });

  test("jump along a distilled model's own list of timesteps, shifted as its config says", () => {
    const config = parseSchedulerConfig({ _class_name: "FlowMatchLCMScheduler", shift: 5 });
    const sigmas = fewStepSigmas([1_000, 750, 500, 250]);
    const { timesteps } = createScheduler(config, { steps: 4, sigmas });
    expect(timesteps.map(Math.round)).toEqual([1_000, 938, 833, 625]);
  });

  test("shift flow levels by the number of tokens, as Flux was trained", () => {
    const config = parseSchedulerConfig({
      _class_name: "FlowMatchEulerDiscreteScheduler",
      use_dynamic_shifting: true,
    });
    expect(dynamicShift(config, 256)).toBeCloseTo(0.5);
    expect(dynamicShift(config, 4_096)).toBeCloseTo(1.15);
    expect(() => createScheduler(config, { steps: 4 })).toThrow("needs mu");
  });
});

/** Shares of signal and noise at a timestep of Stable Diffusion's levels, with its fraction. */
function levelOf(timestep: number) {
  const bars: number[] = [];
  let product = 1;
  for (let index = 0; index < 1_000; index += 1) {
    const [first, last] = [Math.sqrt(0.00085), Math.sqrt(0.012)];
    product *= 1 - (first + ((last - first) * index) / 999) ** 2;
    bars.push(product);
  }
  const low = Math.floor(timestep);
  const sigma = (index: number) => Math.sqrt((1 - (bars[index] ?? 1)) / (bars[index] ?? 1));
  const between = sigma(low) + (sigma(Math.min(low + 1, 999)) - sigma(low)) * (timestep - low);
  const signal = 1 / Math.hypot(between, 1);
  return { signal, noise: between * signal };
}
