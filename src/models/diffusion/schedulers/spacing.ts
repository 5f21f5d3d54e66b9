import { JobError } from "../../../core/errors.js";
import type { SchedulerConfig } from "./config.js";
import { linspace } from "./noise-schedule.js";

type Spacing = NonNullable<SchedulerConfig["timestep_spacing"]>;

/**
 * Training timesteps to visit, falling, by the three ways of Lin et al. 2023, table 2. `linspace` keeps
 * fractions.
 */
export function spreadTimesteps(
  { num_train_timesteps: trained, steps_offset: offset, timestep_spacing }: SchedulerConfig,
  steps: number,
  byDefault: Spacing,
): number[] {
  const spacing = timestep_spacing ?? byDefault;
  if (spacing === "linspace") return linspace(0, trained - 1, steps).toReversed();
  const falling = Array.from({ length: steps }, (_, index) => steps - 1 - index);
  if (spacing === "leading") {
    const stride = Math.floor(trained / steps);
    return falling.map((index) => index * stride + offset);
  }
  return trailingTimesteps(trained, steps);
}

/** As above, for the solvers that treat the last timestep as a goal and not as a step of its own. */
export function spreadSolverTimesteps(
  { num_train_timesteps: trained, steps_offset: offset, timestep_spacing }: SchedulerConfig,
  steps: number,
): number[] {
  const spacing = timestep_spacing ?? "linspace";
  if (spacing === "trailing") return trailingTimesteps(trained, steps);
  const falling = Array.from({ length: steps }, (_, index) => steps - index);
  if (spacing === "leading") {
    const stride = Math.floor(trained / (steps + 1));
    return falling.map((index) => index * stride + offset);
  }
  return falling.map((index) => roundToEven((index * (trained - 1)) / steps));
}

function trailingTimesteps(trained: number, steps: number): number[] {
  const stride = trained / steps;
  return Array.from({ length: steps }, (_, index) => roundToEven(trained - index * stride) - 1);
}

/** Timesteps of a model distilled to skip: `steps` of the levels it was taught, evenly picked. */
export function distilledTimesteps(
  {
    num_train_timesteps: trained,
    original_inference_steps: taught,
  }: Pick<SchedulerConfig, "num_train_timesteps" | "original_inference_steps">,
  steps: number,
): number[] {
  if (steps > taught)
    throw new JobError(
      "invalid_value",
      `steps must be at most ${taught} for this model, got ${steps}`,
      {
        param: "steps",
      },
    );
  const stride = Math.floor(trained / taught);
  return Array.from({ length: steps }, (_, index) => {
    const level = taught - Math.floor((index * taught) / steps);
    return level * stride - 1;
  });
}

/** Half goes to the even neighbour, as the timesteps that models were tuned with were rounded. */
export function roundToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
