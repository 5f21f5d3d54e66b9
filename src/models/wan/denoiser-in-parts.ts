import type { Feeds } from "../../runtime/ort/session.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { concatFloats, float32, floatsOf } from "../../runtime/tensors/tensor.js";
import {
  type Denoiser,
  type EncodedStates,
  findDenoiserPorts,
  type Question,
  tensorsOf,
} from "./denoiser.js";
import { closeAll, FirstBlockCache } from "./first-block-cache.js";

/** Stands for what an earlier step left where there is none. */
const NOTHING_BEFORE = float32(new Float32Array(1), [1, 1, 1]);

/**
 * A denoiser in the parts that scripts/export/wan.py writes with --parts. Each step runs its first block;
 * where that changed enough since an earlier step also the remaining ones, else the head with what they
 * added then. Each prompt has runs of its own, between which all but latents and answers stays where the
 * graphs run.
 */
export function createDenoiserInParts(
  sessions: Pick<Graphs, "info" | "step">,
  suffix: string,
): Denoiser {
  const firstBlock = `first-block${suffix}`;
  const ports = findDenoiserPorts(sessions, firstBlock);
  const outputs = (sessions.info[firstBlock]?.outputs ?? []).map(({ name }) => name);
  const keep = outputs.filter((name) => name !== "change");
  const run = async (role: string, feeds: Feeds, kept: readonly string[] = []) => {
    const options = { fetch: ["sample"], keep: kept };
    const { tensors, values } = await sessions.step(role + suffix, feeds, options);
    return { sample: floatsOf(tensors, "sample"), values };
  };
  const answer = async (question: Question, prompt: EncodedStates, cache: FirstBlockCache) => {
    const before = cache.find(prompt);
    const asked = tensorsOf(ports, { ...question, prompts: [prompt] });
    const feeds = { ...asked, previous_residual: before?.["residual"] ?? NOTHING_BEFORE };
    const first = await sessions.step(firstBlock, feeds, { keep, fetch: ["change"] });
    const [change = Infinity] = floatsOf(first.tensors, "change");
    const given = { ...asked, ...first.values };
    let unused = first.values;
    try {
      if (before !== undefined && cache.reuses(change))
        return (await run("head", { ...given, ...before })).sample;
      const { sample, values } = await run("remaining-blocks", given, ["remaining_residual"]);
      const { residual, ...carried } = first.values;
      unused = carried;
      cache.put(prompt, { ...values, ...(residual && { residual }) });
      return sample;
    } finally {
      closeAll(unused);
    }
  };
  return async (question) => {
    const cache = question.cache ?? new FirstBlockCache(0);
    const answers: Float32Array[] = [];
    for (const prompt of question.prompts) answers.push(await answer(question, prompt, cache));
    return concatFloats(answers);
  };
}
