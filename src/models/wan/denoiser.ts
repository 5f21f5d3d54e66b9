import { findOutput, findPorts, VIDEO_DENOISER_INPUTS } from "../diffusion/graph-ports.js";
import { createStepBatch, type Rows } from "../../runtime/batching/step-batch.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { concatFloats, float32, floatsOf, type TensorInfo } from "../../runtime/tensors/tensor.js";
import type { PromptStates } from "./encode-prompt.js";

/** Of latents: channels, frames, rows, columns. */
export type LatentDims = readonly [number, number, number, number];

/** What the model is asked at a step: the same latents for each of the prompts. */
export interface Question {
  readonly sample: Float32Array;
  readonly dims: LatentDims;
  readonly timestep: number;
  readonly prompts: readonly PromptStates[];
}

/** Its answers, prompt by prompt, float32. */
export type Denoiser = (question: Question) => Promise<Float32Array>;

/** Rows of one run at most: two clips with guidance. */
const MAX_ROWS = 4;
const OUTPUTS = ["sample", "out_sample", "out_hidden_states", "latent", "noise_pred"];

/**
 * A denoiser's graph. Prompts, and clips of one shape, share its runs where it leaves the batch free;
 * else each row has its own.
 */
export function createDenoiser(
  sessions: Pick<SessionThread, "info" | "run">,
  role: string,
): Denoiser {
  const graph = sessions.info[role] ?? { inputs: [], outputs: [] };
  const { sample, timestep, context } = findPorts(graph, VIDEO_DENOISER_INPUTS);
  if (!sample || !timestep || !context) {
    const names = graph.inputs.map(({ name }) => name).join(", ");
    throw new Error(
      `the graph ${role} must have inputs for latents, timestep and prompt, got ${names}`,
    );
  }
  const output = findOutput(graph, OUTPUTS);
  const sharesRuns = !isFixed(sample) && timestep.dims.length === 1 && !isFixed(timestep);
  const batch = createStepBatch({
    run: (feeds) => sessions.run(role, feeds, { fetch: [output] }),
    maxRows: MAX_ROWS,
  });
  const feedsOf = ({ dims, ...asked }: Question): Rows => {
    const rows = asked.prompts.length;
    const [first] = asked.prompts;
    const states = concatFloats(asked.prompts.map(({ values }) => values));
    const tokens = first?.tokens ?? 0;
    const latents = concatFloats(asked.prompts.map(() => asked.sample));
    return {
      [sample.name]: { data: latents, dims: [rows, ...dims] },
      [timestep.name]: { data: new Float32Array(rows).fill(asked.timestep), dims: [rows] },
      [context.name]: { data: states, dims: [rows, tokens, states.length / (rows * tokens)] },
    };
  };
  const runAlone = async (question: Question) => {
    const { [timestep.name]: time, ...feeds } = feedsOf(question);
    const named = Object.entries(feeds).map(([name, row]) => [name, float32(row.data, row.dims)]);
    const at = float32(time?.data ?? new Float32Array(1), timestep.dims.length === 0 ? [] : [1]);
    const all = { ...Object.fromEntries(named), [timestep.name]: at };
    return floatsOf(await sessions.run(role, all, { fetch: [output] }), output);
  };
  return async (question) => {
    if (sharesRuns) return (await batch.run(feedsOf(question)))[output]?.data ?? missing(output);
    const answers: Float32Array[] = [];
    for (const prompt of question.prompts)
      answers.push(await runAlone({ ...question, prompts: [prompt] }));
    return concatFloats(answers);
  };
}

function missing(output: string): never {
  throw new TypeError(`the denoiser has no output ${output}`);
}

/** Whether the first dimension is a number in the graph. */
function isFixed({ dims: [first] }: TensorInfo): boolean {
  return typeof first === "number" && first > 0;
}
