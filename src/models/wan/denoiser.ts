import { createStepBatch, type Rows } from "../../runtime/batching/step-batch.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  concatFloats,
  float32,
  floatsOf,
  int64Of,
  type TensorInfo,
} from "../../runtime/tensors/tensor.js";
import { findOutput, findPorts, VIDEO_DENOISER_INPUTS } from "../diffusion/graph-ports.js";
import { promptTokens } from "../diffusion/prompt-encoders.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** Of latents: channels, frames, rows, columns. */
export type LatentDims = readonly [number, number, number, number];

/** What the model is asked at a step: the same latents for each of the prompts. */
interface Question {
  readonly sample: Float32Array;
  readonly dims: LatentDims;
  readonly timestep: number;
  readonly prompts: readonly PromptStates[];
}

/** Its answers, prompt by prompt, float32. */
export type Denoiser = (question: Question) => Promise<Float32Array>;

/** The one that works above the boundary of the noise schedule, then the one below; one alone does both. */
export type Denoisers = readonly [Denoiser, ...Denoiser[]];

/** Rows of one run at most: two clips with guidance. */
const MAX_ROWS = 4;
const OUTPUTS = ["sample", "out_sample", "out_hidden_states", "latent", "noise_pred"];

/**
 * A denoiser's graph. Prompts, and clips of one shape, share its runs where it leaves the batch free;
 * else each row has its own.
 */
export function createDenoiser(sessions: Pick<Graphs, "info" | "run">, role: string): Denoiser {
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

/** States of a prompt [tokens, features], float32: zeros after its end. */
export type EncodePrompt = (text: string) => Promise<PromptStates>;

export interface PromptStates {
  readonly values: Float32Array;
  readonly tokens: number;
}

/** UMT5 as Wan was trained with it: the padding is masked, and nothing is left of it in the states. */
export function createPromptEncoder(
  sessions: Graphs,
  tokenizer: TextTokenizer,
  tokens: number,
): EncodePrompt {
  const graph = sessions.info["text-encoder"] ?? { inputs: [], outputs: [] };
  const output = findOutput(graph, ["last_hidden_state", "text_embeddings"]);
  return async (text) => {
    const plain = text.replaceAll(/\s+/g, " ").trim();
    const { ids, used } = promptTokens(tokenizer, plain, tokens);
    const feeds = {
      input_ids: int64Of(ids, [1, tokens]),
      attention_mask: int64Of(
        ids.map((_, at) => (at < used ? 1 : 0)),
        [1, tokens],
      ),
    };
    const states = floatsOf(await sessions.run("text-encoder", feeds, { fetch: [output] }), output);
    const features = states.length / tokens;
    return { values: states.fill(0, used * features), tokens };
  };
}
