import type { Planes } from "../../models/diffusion/autoencoder.js";
import { type Condition, stack } from "../../models/diffusion/image-architecture.js";
import { dynamicShift, guide } from "../../models/diffusion/schedulers/flow-match.js";
import { type DenoiserRole, findOutput } from "../../models/diffusion/graph-ports.js";
import { createScheduler } from "../../models/diffusion/schedulers/create-scheduler.js";
import { checkFinite, type Scheduler } from "../../models/diffusion/schedulers/scheduler.js";
import { weightedSum } from "../../models/diffusion/schedulers/prediction.js";
import type { ImageModel } from "../../models/image-model.js";
import type { NoiseSource } from "../../models/sampling/noise.js";
import {
  concatFloats,
  float32,
  floatsOf,
  type Tensor,
  transpose,
} from "../../runtime/tensors/tensor.js";

export interface DiffuseInput extends DenoiserInput {
  readonly steps: number;
  /** What is edited; without it a picture is made of noise alone. */
  readonly edit?: LatentEdit;
  readonly noise: NoiseSource;
  readonly signal: AbortSignal;
}

/** A picture to be edited, as latents. */
export interface LatentEdit {
  readonly latents: Planes;
  /** Share of the steps that are taken, above 0 to 1. */
  readonly strength: number;
  /** [rows, columns] of latents: 1 where the picture is made anew, 0 where it stays, or between. */
  readonly mask?: Float32Array;
}

/** A step that was taken. */
interface DiffuseStep {
  /** Counted from 1. */
  readonly step: number;
  /** Runs of the denoiser in all; some schedulers take one more than asked for. */
  readonly steps: number;
  /** The finished latents as they look from here. */
  readonly clean: Planes;
}

/** Latents of one picture, from noise step by step. */
export async function* diffuse(input: DiffuseInput): AsyncGenerator<DiffuseStep, Planes> {
  const begin = beginOf(input);
  const scheduler = planScheduler(input, begin);
  const { denoise, close } = createDenoiser(input);
  try {
    return yield* takeSteps(input, { scheduler, denoise, begin });
  } finally {
    close();
  }
}

/** The step that an edit begins with, counted as diffusers counts: by the steps left, or those skipped. */
function beginOf({ model, steps, edit }: DiffuseInput): number {
  if (edit === undefined || spreadsSteps(model)) return 0;
  const isFlow = model.scheduler.className.startsWith("FlowMatch");
  const skipped = isFlow
    ? Math.floor(steps - steps * edit.strength)
    : steps - Math.floor(steps * edit.strength);
  return Math.min(skipped, steps - 1);
}

/** Whether an edit takes all steps, over the levels that its strength leaves, as consistency models do. */
function spreadsSteps({ ports }: ImageModel): boolean {
  return ports.timestepCondition !== undefined;
}

interface Way {
  readonly scheduler: Scheduler;
  readonly denoise: Denoise;
  /** Index of the first step. */
  readonly begin: number;
}

async function* takeSteps(
  { grid, noise, signal, edit }: DiffuseInput,
  { scheduler, denoise, begin }: Way,
): AsyncGenerator<DiffuseStep, Planes> {
  const first = noise(grid.channels * grid.height * grid.width);
  const steps = scheduler.timesteps.length - begin;
  /** The picture that is edited at the noise level of a step; clean after the last one. */
  const noised = ({ latents }: LatentEdit, index: number) => {
    const level = index < scheduler.timesteps.length ? scheduler.levelOf(index) : CLEAN;
    return weightedSum([level.signal, latents.values], [level.noise, first]);
  };
  // What is made anew at full strength owes the picture nothing, not even at the first noise level.
  const isFromNoise = edit === undefined || (edit.mask !== undefined && edit.strength === 1);
  let sample: Float32Array = isFromNoise
    ? first.map((value) => value * scheduler.initialNoiseSigma)
    : noised(edit, begin);
  for (const [index, timestep] of scheduler.timesteps.entries()) {
    if (index < begin) continue;
    signal.throwIfAborted();
    const output = await denoise(scheduler.scaleInput(sample, index), timestep);
    const result = scheduler.step(output, index, sample, noise);
    checkFinite(result.sample);
    sample = edit?.mask ? blend(edit.mask, result.sample, noised(edit, index + 1)) : result.sample;
    const values = edit?.mask ? blend(edit.mask, result.clean, edit.latents.values) : result.clean;
    yield { step: index - begin + 1, steps, clean: { ...grid, values } };
  }
  signal.throwIfAborted();
  return { ...grid, values: sample };
}

const CLEAN = { signal: 1, noise: 0 };

/** `made` where the mask is 1, `kept` where it is 0, in every channel; between them in part. */
function blend(mask: Float32Array, made: Float32Array, kept: Float32Array): Float32Array {
  return made.map((value, index) => {
    const share = mask[index % mask.length] ?? 0;
    return share * value + (1 - share) * (kept[index] ?? 0);
  });
}

function planScheduler({ model, steps, grid, edit }: DiffuseInput, begin: number): Scheduler {
  const { architecture, scheduler, traits } = model;
  // Transformers read latents in squares of two by two.
  const tokens = (grid.height * grid.width) / traits.latentMultiple ** 2;
  const even = Array.from({ length: steps }, (_, index) => 1 - index / steps);
  return createScheduler(scheduler, {
    steps,
    begin,
    ...(edit && spreadsSteps(model) && { share: edit.strength }),
    ...(architecture.usesEvenSigmas && !scheduler.use_flow_sigmas && { sigmas: even }),
    mu: architecture.shift?.(tokens, steps) ?? dynamicShift(scheduler, tokens),
  });
}

interface DenoiserInput {
  readonly model: ImageModel;
  /** The prompt, then, where the model is guided by a second run, what it is to move away from. */
  readonly conditions: readonly Condition[];
  readonly guidance: number;
  /** Latents: channels, rows, columns. */
  readonly grid: Omit<Planes, "values">;
  /** Mask and masked picture as further channels of each sample, for a denoiser that reads them. */
  readonly beside?: Float32Array;
  /** Latents of a picture whose tokens follow those of the sample. */
  readonly reference?: Planes;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** What the model says of latents [channels, rows, columns] at a timestep of the scheduler. */
type Denoise = (sample: Float32Array, timestep: number) => Promise<Float32Array>;

type Branch = Readonly<Partial<Record<DenoiserRole, Tensor>>>;

const OUTPUTS = ["out_sample", "out_hidden_states", "sample", "latent", "noise_pred"];

interface Denoiser {
  readonly denoise: Denoise;
  /** Frees what its runs share. */
  readonly close: () => void;
}

export function createDenoiser(input: DenoiserInput): Denoiser {
  const { model, grid, guidance } = input;
  const { sessions, architecture } = model;
  const output = findOutput(sessions.info["denoiser"] ?? { inputs: [], outputs: [] }, OUTPUTS);
  const branches = input.conditions.map((condition) => branchOf(input, condition));
  /** Text states and the like: where the graph computes, for all steps. */
  const shared = batches(model, branches).map((batch) => ({
    rows: batch.length,
    constants: sessions.place("denoiser", nameFeeds(model, joinBranches(batch))),
  }));
  const runBatch = async (
    { rows, constants }: (typeof shared)[number],
    latents: Tensor,
    timestep: number,
  ) => {
    const sample = stack(Array.from({ length: rows }, () => latents));
    const moving = nameFeeds(model, { sample, timestep: timesteps(model, timestep, rows) });
    const feeds = { ...constants, ...moving };
    const said = floatsOf(await sessions.run("denoiser", feeds, { fetch: [output] }), output);
    return firstChannels(said, rows, grid);
  };
  const denoise: Denoise = async (sample, timestep) => {
    const latents = packLatents(input, sample);
    const time = architecture.timestep?.(timestep) ?? timestep;
    const parts: Float32Array[] = [];
    for (const batch of shared) parts.push(await runBatch(batch, latents, time));
    const guided = branches.length > 1 ? guide(concatFloats(parts), guidance) : concatFloats(parts);
    const said = UNPACK[architecture.packing]?.(guided, grid) ?? guided;
    return architecture.pointsToData ? said.map((value) => -value) : said;
  };
  return {
    denoise,
    close() {
      for (const value of shared.flatMap(({ constants }) => Object.values(constants)))
        value.close();
    },
  };
}

/** Without the variances that some models say behind what they say of the latents. */
function firstChannels(said: Float32Array, rows: number, grid: Grid): Float32Array {
  const length = grid.channels * grid.height * grid.width;
  const each = said.length / rows;
  if (each === length) return said;
  const kept = Array.from({ length: rows }, (_, row) =>
    said.subarray(row * each, row * each + length),
  );
  return concatFloats(kept);
}

/** A sample as the graph reads it, with what belongs beside it. */
function packLatents(
  { model, grid, beside, reference }: DenoiserInput,
  sample: Float32Array,
): Tensor {
  const { packing } = model.architecture;
  const { channels, height, width } = grid;
  if (packing === "squares")
    return float32(packSquares(sample, grid), [1, (height * width) / 4, channels * 4]);
  if (packing !== "tokens") return asPlanes(beside ? [sample, beside] : [sample], grid);
  const own = transpose(sample, channels);
  const tokens = reference ? concatFloats([own, transpose(reference.values, channels)]) : own;
  return float32(tokens, [1, tokens.length / channels, channels]);
}

/** What a graph says of packed latents as planes again. */
const UNPACK: Readonly<Partial<Record<string, (said: Float32Array, grid: Grid) => Float32Array>>> =
  {
    squares: unpackSquares,
    tokens: (said, { height, width }) => transpose(said, height * width),
  };

function asPlanes(parts: readonly Float32Array[], { height, width }: Grid): Tensor {
  const values = concatFloats(parts);
  return float32(values, [1, values.length / (height * width), height, width]);
}

function branchOf(input: DenoiserInput, { context, pooled, mask }: Condition): Branch {
  const { model, grid, guidance, reference, width, height } = input;
  const constants = model.architecture.constants({
    width,
    height,
    rows: grid.height,
    columns: grid.width,
    guidance,
    guidanceFeatures: model.traits.guidanceFeatures,
    contextTokens: context.dims[1] ?? 0,
    reference: reference && { rows: reference.height, columns: reference.width },
  });
  return {
    ...constants,
    context,
    ...(pooled && { pooled }),
    ...(mask && { contextMask: mask }),
  };
}

/**
 * Both branches in one run, or, where the graph is fixed to a batch of one or their prompts are not of one
 * length, one after the other.
 */
function batches({ ports }: ImageModel, branches: readonly Branch[]): (readonly Branch[])[] {
  const declared = ports.sample?.dims[0];
  const isFixed = typeof declared === "number" && declared > 0 && declared < branches.length;
  const lengths = new Set(branches.map(({ context }) => context?.dims[1]));
  return isFixed || lengths.size > 1 ? branches.map((branch) => [branch]) : [branches];
}

/** Positions are the same for every sample of a batch. */
const SHARED: readonly string[] = ["imageIds", "textIds"] satisfies DenoiserRole[];

function joinBranches(batch: readonly Branch[]): Branch {
  const [first = {}] = batch;
  const joined = Object.entries(first).map(([role, tensor]) => [
    role,
    SHARED.includes(role) ? tensor : stack(batch.flatMap((branch) => find(branch, role) ?? [])),
  ]);
  return Object.fromEntries(joined);
}

function find(branch: Branch, role: string): Tensor | undefined {
  return Object.entries(branch).find(([name]) => name === role)?.[1];
}

/** A scalar, one value, or one a sample, as the graph declares it. */
function timesteps({ ports }: ImageModel, timestep: number, count: number): Tensor {
  const dims = ports.timestep?.dims ?? [];
  if (dims.length === 0) return float32(Float32Array.of(timestep), []);
  const length = typeof dims[0] === "number" && dims[0] > 0 ? dims[0] : count;
  return float32(new Float32Array(length).fill(timestep), [length]);
}

/** Feeds under the graph's names; what it does not declare is left out. */
function nameFeeds({ ports }: ImageModel, feeds: Branch): Record<string, Tensor> {
  const named = Object.entries(ports).flatMap(([role, port]) => {
    const tensor = find(feeds, role);
    if (tensor === undefined || port === undefined) return [];
    const missing = port.dims.length - tensor.dims.length;
    const dims = missing > 0 && SHARED.includes(role) ? [1, ...tensor.dims] : tensor.dims;
    return [[port.name, { ...tensor, dims }] as const];
  });
  return Object.fromEntries(named);
}

type Grid = Omit<Planes, "values">;

/** Planes [channels, rows, columns] as tokens [rows/2 × columns/2, channels × 4], a square of four each. */
export function packSquares(planes: Float32Array, grid: Grid): Float32Array {
  const tokens = new Float32Array(planes.length);
  for (const [plane, token] of squareIndices(grid)) tokens[token] = planes[plane] ?? 0;
  return tokens;
}

export function unpackSquares(tokens: Float32Array, grid: Grid): Float32Array {
  const planes = new Float32Array(tokens.length);
  for (const [plane, token] of squareIndices(grid)) planes[plane] = tokens[token] ?? 0;
  return planes;
}

/** Index in the planes and in the tokens of each value; within a token channel, row, column. */
function* squareIndices({ channels, height, width }: Grid): Generator<readonly [number, number]> {
  let plane = 0;
  for (let channel = 0; channel < channels; channel += 1)
    for (let row = 0; row < height; row += 1)
      for (let column = 0; column < width; column += 1) {
        const square = (row >> 1) * (width / 2) + (column >> 1);
        const within = channel * 4 + (row & 1) * 2 + (column & 1);
        yield [plane, square * channels * 4 + within];
        plane += 1;
      }
}
