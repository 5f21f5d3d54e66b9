import { describe, expect, test } from "vitest";
import type { SchedulerOptions } from "#framemill/models/diffusion/schedulers/scheduler.js";
import {
  alphaBars,
  flowLevel,
  levelAtTimestep,
  levelOfBar,
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
  WAN_LEVELS,
} from "../../../../support/noise-levels.js";

/** After the point, of values up to 20 that are float32. */
const DIGITS = 4;

/** What a model says that knows the picture and the noise, by what it was trained to say. */
const SAID = {
  epsilon: () => NOISE,
  sample: () => PICTURE,
  v_prediction: ({ signal, noise }: NoiseLevel) => signal * NOISE - noise * PICTURE,
  flow_prediction: () => NOISE - PICTURE,
} as const;

const variancePreserving = (sigma: number): NoiseLevel => {
  return { signal: 1 / Math.hypot(1, sigma), noise: sigma / Math.hypot(1, sigma) };
};

/** Levels of Lin et al. 2023: the roots are stretched until nothing of the signal is left at the last. */
function withoutSignalAtEnd(bars: readonly number[]): (timestep: number) => NoiseLevel {
  const root = (timestep: number) => Math.sqrt(bars[timestep] ?? 0);
  const stretch = root(0) / (root(0) - root(999));
  return (timestep) => levelOfBar(((root(timestep) - root(999)) * stretch) ** 2);
}
const stretched = withoutSignalAtEnd(alphaBars);
/** CogVideoX: signal to noise divided by 3, then stretched. */
const cogVideo = withoutSignalAtEnd(alphaBars.map((bar) => bar / (3 - 2 * bar)));

/** Karras et al. 2022: seventh roots evenly between the greatest and the smallest trained level. */
const karras = [0, 1, 2, 3].map((index) => {
  const [most, least] = [sigmaAtTimestep(999) ** (1 / 7), sigmaAtTimestep(0) ** (1 / 7)];
  return (most + ((least - most) * index) / 3) ** 7;
});

interface Way {
  readonly config: object;
  /** What the model was trained to say; the noise where absent. */
  readonly says?: keyof typeof SAID;
  readonly options?: Partial<SchedulerOptions>;
  readonly timesteps: readonly number[];
  /** Where it stands before the first step and after each. */
  readonly levels: readonly NoiseLevel[];
}

const ddim = { _class_name: "DDIMScheduler", clip_sample: false };
const ofV = "v_prediction" as const;
const ofFlow = "flow_prediction" as const;
const leading = { timestep_spacing: "leading", steps_offset: 1, set_alpha_to_one: false };
const noSignalAtEnd = { rescale_betas_zero_snr: true, timestep_spacing: "trailing" };
const euler = { _class_name: "EulerDiscreteScheduler" };
const dpm = { _class_name: "DPMSolverMultistepScheduler" };
const onNoise = { algorithm_type: "dpmsolver", final_sigmas_type: "sigma_min" };
const unipc = { _class_name: "UniPCMultistepScheduler" };
const flowEuler = { _class_name: "FlowMatchEulerDiscreteScheduler" };
const quarters = { sigmas: [1, 0.75, 0.5, 0.25] };

const LEADING = [751, 501, 251, 1];
const SOLVER = [999, 749, 500, 250];
const TRAILING = [999, 749, 499, 249];
const LINSPACE = [999, 666, 333, 0];
const solverLevels = [...SOLVER.map(levelAtTimestep), NO_NOISE];
const shifted = (shift: number, levels: readonly number[]) =>
  [...levels, 0].map((level) => flowLevel(shiftedLevel(level, shift)));
/** LTX: moved by e^2.05, then stretched so that the last level is 0.1. */
const ltx = quarters.sigmas.map((level) => 1 - shiftedLevel(level, Math.exp(2.05)));
const toTenth = ltx.map((signal) => flowLevel(1 - (signal * 0.9) / (ltx.at(-1) ?? 1)));

const WAYS: Readonly<Record<string, Way>> = {
  "DDIM, leading": {
    config: { ...ddim, ...leading },
    timesteps: LEADING,
    levels: [...LEADING, 0].map(levelAtTimestep),
  },
  "DDIM of v, trailing, from no signal at all": {
    config: { ...ddim, ...noSignalAtEnd },
    says: ofV,
    timesteps: TRAILING,
    levels: [...TRAILING.map(stretched), NO_NOISE],
  },
  "CogVideoX' DDIM": {
    config: { ...ddim, ...noSignalAtEnd, _class_name: "CogVideoXDDIMScheduler" },
    says: ofV,
    timesteps: TRAILING,
    levels: [...TRAILING.map(cogVideo), NO_NOISE],
  },
  "PNDM, whose second step is taken twice": {
    config: { _class_name: "PNDMScheduler", skip_prk_steps: true, ...leading },
    timesteps: [751, 501, 501, 251, 1],
    levels: [751, 501, 501, 251, 1, 0].map(levelAtTimestep),
  },
  Euler: {
    config: euler,
    timesteps: LINSPACE,
    levels: [...LINSPACE.map(sigmaAtTimestep), 0].map(unscaledLevel),
  },
  "Euler of v, trailing": {
    config: { ...euler, timestep_spacing: "trailing" },
    says: ofV,
    timesteps: TRAILING,
    levels: [...TRAILING.map(sigmaAtTimestep), 0].map(unscaledLevel),
  },
  "Euler at Karras' levels": {
    config: { ...euler, use_karras_sigmas: true },
    timesteps: [999, 687.2, 145.9, 0],
    levels: [...karras, 0].map(unscaledLevel),
  },
  "linear multistep": {
    config: { _class_name: "LMSDiscreteScheduler" },
    timesteps: LINSPACE,
    levels: [...LINSPACE.map(sigmaAtTimestep), 0].map(unscaledLevel),
  },
  "DPM-Solver++": { config: dpm, timesteps: SOLVER, levels: solverLevels },
  "DPM-Solver++ of clean pictures, of order 3": {
    config: { ...dpm, solver_order: 3 },
    says: "sample",
    timesteps: SOLVER,
    levels: solverLevels,
  },
  "DPM-Solver++ at Karras' levels": {
    config: { ...dpm, use_karras_sigmas: true },
    timesteps: [999, 687, 146, 0],
    levels: [...karras.map(variancePreserving), NO_NOISE],
  },
  "DPM-Solver on noise, to the smallest level": {
    config: { ...dpm, ...onNoise },
    timesteps: SOLVER,
    levels: [...SOLVER, 0].map(levelAtTimestep),
  },
  UniPC: { config: unipc, timesteps: SOLVER, levels: solverLevels },
  "UniPC of v, on noise": {
    config: { ...unipc, predict_x0: false, final_sigmas_type: "sigma_min" },
    says: ofV,
    timesteps: SOLVER,
    levels: [...SOLVER, 0].map(levelAtTimestep),
  },
  "UniPC of flows, as Wan is published": {
    config: { ...unipc, use_flow_sigmas: true, flow_shift: 3 },
    says: ofFlow,
    timesteps: [999, 900, 750, 500],
    levels: [...WAN_LEVELS, 0].map(flowLevel),
  },
  "Euler of flows, whose smallest level is moved twice": {
    config: { ...flowEuler, shift: 3 },
    says: ofFlow,
    timesteps: [1_000, 857.7, 602.2, 8.9],
    levels: shifted(
      3,
      [0, 1, 2, 3].map((index) => 1 - (index / 3) * (1 - shiftedLevel(0.001, 3))),
    ),
  },
  "Euler of flows, as Flux schnell is published": {
    config: flowEuler,
    says: ofFlow,
    options: quarters,
    timesteps: [1_000, 750, 500, 250],
    levels: shifted(1, quarters.sigmas),
  },
  "Euler of flows, moved by the number of tokens, as Flux dev is published": {
    config: { ...flowEuler, use_dynamic_shifting: true },
    says: ofFlow,
    options: { ...quarters, mu: 1.15 },
    timesteps: [1_000, 904.5, 759.5, 512.8],
    levels: shifted(Math.exp(1.15), quarters.sigmas),
  },
  "Euler of flows, stretched to a last level, as LTX-Video is published": {
    config: { ...flowEuler, use_dynamic_shifting: true, shift_terminal: 0.1 },
    says: ofFlow,
    options: { ...quarters, mu: 2.05 },
    timesteps: [1_000, 867.1, 631.6, 100],
    levels: [...toTenth, NO_NOISE],
  },
};

describe.each(Object.entries(WAYS))("the way of %s", (_, way) => {
  const { config, says = "epsilon", options, timesteps, levels } = way;
  const open = () => openScheduler({ ...config, prediction_type: says }, options);

  /** What the sample before the step at `index` is divided by, and what the model then says of it. */
  function seenAt(index: number) {
    const { signal, noise } = levels[index] ?? NO_NOISE;
    const scale = says === ofFlow ? 1 : Math.hypot(signal, noise);
    return { scale, said: SAID[says]({ signal: signal / scale, noise: noise / scale }) };
  }

  test("visits its timesteps and, at each, mixes picture and noise as the level says", () => {
    const scheduler = open();
    expect(scheduler.timesteps.map((timestep) => Number(timestep.toFixed(1)))).toEqual(timesteps);
    let sample = mixed(levels[0] ?? NO_NOISE);
    for (const [index, goal] of levels.slice(1).entries()) {
      const { scale, said } = seenAt(index);
      expect(scheduler.scaleInput(Float32Array.of(sample), index)[0]).toBeCloseTo(sample / scale);
      const result = takeStep(scheduler, index, [sample, said]);
      expect(result.clean).toBeCloseTo(PICTURE, DIGITS);
      expect(result.sample).toBeCloseTo(mixed(goal), DIGITS);
      sample = result.sample;
    }
  });

  test("is gone on with by another that is given what the last one remembers", () => {
    const one = open();
    let [sample, resumed] = [3, 3];
    let memory: readonly Float32Array[] = [];
    for (const index of timesteps.keys()) {
      const said = Math.cos(3 * index);
      const other = open();
      expect(other.memory?.restore(index, memory) ?? true).toBe(true);
      resumed = takeStep(other, index, [resumed, said]).sample;
      sample = takeStep(one, index, [sample, said]).sample;
      memory = other.memory?.save().map((values) => values.slice()) ?? [];
      expect(open().memory?.restore(index + 1, memory.slice(1)) ?? false).toBe(false);
    }
    expect(resumed).toBe(sample);
    expect(open().memory?.restore(0, [Float32Array.of(sample)]) ?? false).toBe(false);
  });
});

test("the first noise has the strength of the first level, and the signal's where steps lead", () => {
  const spread = (timestep_spacing: string) =>
    openScheduler({ ...euler, timestep_spacing, steps_offset: 1 }).initialNoiseSigma;
  expect(spread("linspace")).toBeCloseTo(sigmaAtTimestep(999), DIGITS);
  expect(spread("trailing")).toBeCloseTo(sigmaAtTimestep(999), DIGITS);
  expect(spread("leading")).toBeCloseTo(Math.hypot(sigmaAtTimestep(751), 1), DIGITS);
  expect(openScheduler(unipc).initialNoiseSigma).toBe(1);
});
