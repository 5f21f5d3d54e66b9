import type { Feed, Feeds } from "../../runtime/ort/graphs.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import type { Tensors } from "../../runtime/tensors/tensor.js";
import { columnsOf } from "./columns.js";

/** The graph that `writeStepGraph` makes. */
export const STEP_ROLE = "sampler-step";
/** Its outputs that stay on the device: for `GraphsSetup.keeps`. */
export const STEP_KEEPS = { [STEP_ROLE]: ["denoised"] };
const KEPT = "latents between two steps";

/** The sampler's steps as runs of a graph of one step, whose latents stay where it runs in between. */
export function chainSteps(
  sessions: Pick<SessionThread, "run" | "drop">,
): (feeds: Tensors) => Promise<Tensors> {
  return async (feeds) => {
    const steps = feeds["guidances"]?.dims[1] ?? 0;
    const run = (step: number, latents: Feeds, isLast: boolean) => {
      const given: Feeds = {
        ...feeds,
        ...latents,
        sigmas: columnsOf(feeds, "sigmas", [step, step + 2]),
        guidances: columnsOf(feeds, "guidances", [step, step + 1]),
      };
      return sessions.run(STEP_ROLE, given, isLast ? {} : { keep: { denoised: KEPT }, fetch: [] });
    };
    const kept: Feed = { kept: KEPT };
    try {
      for (let step = 0; step < steps - 1; step += 1)
        await run(step, step === 0 ? {} : { latents: kept }, false);
      return await run(steps - 1, steps === 1 ? {} : { latents: kept }, true);
    } finally {
      sessions.drop([KEPT]);
    }
  };
}
