import { createStepBatch, type Rows } from "../../runtime/batching/step-batch.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  concatFloats,
  float32,
  floatsOf,
  int64Of,
  type TensorInfo,
  type Tensors,
} from "../../runtime/tensors/tensor.js";
import {
  findOutput,
  findPorts,
  type Ports,
  VIDEO_DENOISER_INPUTS,
} from "../diffusion/graph-ports.js";
import { promptNotes, promptTokens } from "../diffusion/prompt-encoders.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import type { FirstBlockCache } from "./first-block-cache.js";

/** Of latents: channels, frames, rows, columns. */
export type LatentDims = readonly [number, number, number, number];

/** States [tokens, features] of a prompt or a picture, float32. */
export interface EncodedStates {
  readonly values: Float32Array;
  readonly tokens: number;
}

/** The picture that a clip begins with, as its model was trained to read it. */
export interface PictureCondition {
  /** Which frames are given, and their latents: [temporal stride + channels, frames, rows, columns]. */
  readonly channels?: Float32Array;
  /** What an image encoder sees. */
  readonly states?: EncodedStates;
  /** Latents of the first frame [channels, rows, columns], which is without noise at every step. */
  readonly firstFrame?: Float32Array;
}

/** What the model is asked at a step: the same latents for each of the prompts. */
export interface Question {
  readonly sample: Float32Array;
  readonly dims: LatentDims;
  readonly timestep: number;
  readonly prompts: readonly EncodedStates[];
  readonly picture?: PictureCondition | undefined;
  /** What the clip's earlier steps left for this one. */
  readonly cache?: FirstBlockCache | undefined;
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
  const ports = findDenoiserPorts(sessions, role);
  const { sample, timestep } = ports;
  const output = findOutput(sessions.info[role] ?? NOTHING, OUTPUTS);
  const sharesRuns = !isFixed(sample) && timestep.dims.length > 0 && !isFixed(timestep);
  const batch = createStepBatch({
    run: (feeds) => sessions.run(role, feeds, { fetch: [output] }),
    maxRows: MAX_ROWS,
  });
  const runAlone = async (question: Question) => {
    const feeds = tensorsOf(ports, question);
    return floatsOf(await sessions.run(role, feeds, { fetch: [output] }), output);
  };
  return async (question) => {
    if (sharesRuns)
      return (await batch.run(rowsOf(ports, question)))[output]?.data ?? missing(output);
    const answers: Float32Array[] = [];
    for (const prompt of question.prompts)
      answers.push(await runAlone({ ...question, prompts: [prompt] }));
    return concatFloats(answers);
  };
}

const NOTHING = { inputs: [], outputs: [] };

interface DenoiserPorts extends Ports<keyof typeof VIDEO_DENOISER_INPUTS> {
  readonly sample: TensorInfo;
  readonly timestep: TensorInfo;
  readonly context: TensorInfo;
}

/** Throws where the graph does not take what every denoiser of clips does. */
export function findDenoiserPorts({ info }: Pick<Graphs, "info">, role: string): DenoiserPorts {
  const { inputs } = info[role] ?? NOTHING;
  const { sample, timestep, context, picture } = findPorts(
    info[role] ?? NOTHING,
    VIDEO_DENOISER_INPUTS,
  );
  if (sample && timestep && context)
    return { sample, timestep, context, ...(picture && { picture }) };
  const names = inputs.map(({ name }) => name).join(", ");
  throw new Error(
    `the graph ${role} must have inputs for latents, timestep and prompt, got ${names}`,
  );
}

/** One row a prompt. */
function rowsOf(ports: DenoiserPorts, asked: Question): Rows {
  const { sample, timestep, context, picture } = ports;
  const { prompts, dims } = asked;
  const { channels = new Float32Array(), states } = asked.picture ?? {};
  const latents = concatFloats(prompts.flatMap(() => [asked.sample, channels]));
  const [, ...sides] = dims;
  const depth = (asked.sample.length + channels.length) / (asked.sample.length / dims[0]);
  const times = timestep.dims.length < 2 ? Float32Array.of(asked.timestep) : tokenTimes(asked);
  return {
    [sample.name]: { data: latents, dims: [prompts.length, depth, ...sides] },
    [timestep.name]: {
      data: concatFloats(prompts.map(() => times)),
      dims: timestep.dims.length < 2 ? [prompts.length] : [prompts.length, times.length],
    },
    [context.name]: sideBySide(prompts),
    ...(picture && states && { [picture.name]: sideBySide(prompts.map(() => states)) }),
  };
}

/** Of one prompt, in the ranks that the graph declares. */
export function tensorsOf(ports: DenoiserPorts, question: Question): Tensors {
  const rows = Object.entries(rowsOf(ports, question)).map(([name, { data, dims }]) => {
    const isScalar = name === ports.timestep.name && ports.timestep.dims.length === 0;
    return [name, float32(data, isScalar ? [] : dims)];
  });
  return Object.fromEntries(rows);
}

/** States of one length, side by side: [rows, tokens, features]. */
function sideBySide(states: readonly EncodedStates[]): Rows[string] {
  const data = concatFloats(states.map(({ values }) => values));
  const tokens = states[0]?.tokens ?? 0;
  return { data, dims: [states.length, tokens, data.length / (states.length * tokens)] };
}

/** Latents of a side of a token, in all models that have a timestep for each. */
const PATCH = 2;

/** A timestep for each token, frame by frame: none for those of a frame that is given. */
function tokenTimes({ dims, timestep, picture }: Question): Float32Array {
  const [, frames, rows, columns] = dims;
  const size = (rows / PATCH) * (columns / PATCH);
  const times = new Float32Array(frames * size).fill(timestep);
  return picture?.firstFrame ? times.fill(0, 0, size) : times;
}

function missing(output: string): never {
  throw new TypeError(`the denoiser has no output ${output}`);
}

/** Whether the first dimension is a number in the graph. */
function isFixed({ dims: [first] }: TensorInfo): boolean {
  return typeof first === "number" && first > 0;
}

/** States of a prompt [tokens, features], float32: zeros after its end; and what of it was not read. */
export interface PromptStates extends EncodedStates {
  readonly notes: readonly string[];
}
export type EncodePrompt = (text: string) => Promise<PromptStates>;

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
    const notes = promptNotes(tokenizer, plain, tokens);
    return { values: states.fill(0, used * features), tokens, notes };
  };
}
