import { expect, test } from "vitest";
import {
  levelAtTimestep,
  openScheduler,
  takeStep,
  WAN_LEVELS,
} from "../../../../support/noise-levels.js";

/** After the point, of values up to 20 that are float32. */
const DIGITS = 4;

test("PNDM weighs what the model said as if it changed from step to step like a cubic", () => {
  const config = { _class_name: "PNDMScheduler", skip_prk_steps: true, steps_offset: 1 };
  const scheduler = openScheduler(config, { steps: 10 });
  // The second timestep is visited twice: what is said there first only betters the first step.
  const cubes = scheduler.timesteps.map((_, index) => Math.max(0, index - 1) ** 3);
  // Adams and Bashforth: means over the next step of the polynomial through what was said so far.
  const means = cubes.map((_, index) => {
    return [0, 0, 3 / 2, (23 * 8 - 16) / 12][index] ?? (index ** 4 - (index - 1) ** 4) / 4;
  });
  let sample = 1;
  for (const [index, timestep] of scheduler.timesteps.entries()) {
    const result = takeStep(scheduler, index, [sample, (cubes[index] ?? Number.NaN) / 100]);
    const [start, from] = index === 1 ? [1, timestep + 100] : [sample, timestep];
    const mean = (means[index] ?? Number.NaN) / 100;
    expect(result.sample).toBeCloseTo(ddimStep(start, mean, from), DIGITS);
    sample = result.sample;
  }
});

/** Of ten steps: the picture as the noise leaves it, with the same noise a hundred timesteps below. */
function ddimStep(sample: number, noise: number, timestep: number): number {
  const [from, to] = [levelAtTimestep(timestep), levelAtTimestep(Math.max(0, timestep - 100))];
  return to.signal * ((sample - from.noise * noise) / from.signal) + to.noise * noise;
}

test("UniPC predicts and corrects flows by the formulas of order 2, at both ends by those of order 1", () => {
  const flow = { use_flow_sigmas: true, flow_shift: 3, prediction_type: "flow_prediction" };
  const scheduler = openScheduler({ _class_name: "UniPCMultistepScheduler", ...flow });
  let [before, sample] = [1, 1];
  let latest: UniPcStep | undefined;
  for (const [index, level] of WAN_LEVELS.entries()) {
    const velocity = Math.fround(Math.cos(index) - 0.5 * sample);
    const result = takeStep(scheduler, index, [sample, velocity]);
    // What the model says of a sample that was predicted also corrects that sample.
    const clean = sample - level * velocity;
    const corrected = latest ? corrector(before, { ...latest, arrived: clean }) : sample;
    latest = { ...wayFrom(index), clean, earlier: latest?.clean };
    expect(result.sample).toBeCloseTo(predictor(corrected, latest), DIGITS);
    [before, sample] = [corrected, result.sample];
  }
});

/** Zhao et al. 2023, UniPC by B2(h), multistep. */
interface UniPcStep {
  readonly index: number;
  /** Way in half the logarithm of signal to noise, and the one before it as its share. */
  readonly h: number;
  readonly ratio: number;
  /** The picture that the model saw at the beginning of the step, and of the one before it. */
  readonly clean: number;
  readonly earlier: number | undefined;
}

const lambdaOf = (level: number) => Math.log((1 - level) / level);

function wayFrom(index: number) {
  const lambda = (at: number) => lambdaOf(WAN_LEVELS[at] ?? 0);
  const h = lambda(index + 1) - lambda(index);
  const ratio = (lambda(index - 1) - lambda(index)) / h;
  return { index, h, ratio };
}

function firstOrder(sample: number, { index, h, clean }: UniPcStep): number {
  const [from, to] = [WAN_LEVELS[index] ?? 1, WAN_LEVELS[index + 1] ?? 0];
  return (to / from) * sample - (1 - to) * Math.expm1(-h) * clean;
}

function predictor(sample: number, step: UniPcStep): number {
  const { index, h, ratio, clean, earlier } = step;
  const isLast = index === WAN_LEVELS.length - 1;
  if (earlier === undefined || isLast) return firstOrder(sample, step);
  const slope = (earlier - clean) / ratio;
  return (
    firstOrder(sample, step) - (1 - (WAN_LEVELS[index + 1] ?? 0)) * Math.expm1(-h) * 0.5 * slope
  );
}

function corrector(sample: number, step: UniPcStep & { readonly arrived: number }): number {
  const { index, h, ratio, clean, earlier, arrived } = step;
  const scale = (1 - (WAN_LEVELS[index + 1] ?? 0)) * Math.expm1(-h);
  const change = arrived - clean;
  if (earlier === undefined) return firstOrder(sample, step) - scale * 0.5 * change;
  // Equation 9 for two differences: their weights sum to `first`, and times their places to `second`.
  const first = (Math.expm1(-h) / -h - 1) / Math.expm1(-h);
  const second = (2 * ((Math.expm1(-h) / -h - 1) / -h - 0.5)) / Math.expm1(-h);
  const weight = (first - second) / (1 - ratio);
  const differences = (weight * (earlier - clean)) / ratio + (first - weight) * change;
  return firstOrder(sample, step) - scale * differences;
}
