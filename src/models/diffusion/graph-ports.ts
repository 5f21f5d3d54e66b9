import type { GraphInfo, TensorInfo } from "../../runtime/tensors/tensor.js";

/** What a graph calls an input: the names that exporters give it, and how else to know it. */
export interface PortRole {
  readonly names: readonly string[];
  /** Ranks of an input under any other name; none where the name alone tells. */
  readonly ranks?: readonly number[];
}

/** Roles of a denoiser's inputs over all exporters seen; see docs of optimum, diffusers, TensorRT demos. */
export const DENOISER_INPUTS = {
  sample: { names: ["sample", "latent_sample", "hidden_states", "x"], ranks: [4] },
  timestep: { names: ["timestep", "t", "timesteps"], ranks: [0, 1] },
  context: { names: ["encoder_hidden_states", "context", "prompt_embeds"], ranks: [3] },
  contextMask: { names: ["encoder_attention_mask"] },
  pooled: { names: ["pooled_projections", "text_embeds", "pooled_prompt_embeds", "y"] },
  timeIds: { names: ["time_ids"] },
  resolution: { names: ["resolution"] },
  aspectRatio: { names: ["aspect_ratio"] },
  timestepCondition: { names: ["timestep_cond"] },
  guidance: { names: ["guidance"] },
  imageIds: { names: ["img_ids"] },
  textIds: { names: ["txt_ids"] },
} as const satisfies Record<string, PortRole>;

/** The same of denoisers of clips, whose latents are [batch, channels, frames, rows, columns]. */
export const VIDEO_DENOISER_INPUTS = {
  sample: { ...DENOISER_INPUTS.sample, ranks: [5] },
  timestep: DENOISER_INPUTS.timestep,
  context: DENOISER_INPUTS.context,
  picture: { names: ["encoder_hidden_states_image", "image_embeds", "clip_fea"] },
} as const satisfies Record<string, PortRole>;

export type DenoiserRole = keyof typeof DENOISER_INPUTS;
export type Ports<Role extends string> = Readonly<Partial<Record<Role, TensorInfo>>>;

/**
 * The graph's inputs by role: by name first, then the only one left over of a fitting rank. Roles that
 * the graph does not declare are absent.
 */
export function findPorts<Role extends string>(
  graph: GraphInfo,
  roles: Readonly<Record<Role, PortRole>>,
): Ports<Role> {
  const entries = Object.entries<PortRole>(roles);
  const named = entries.map(([role, { names }]) => {
    const name = names.find((candidate) => graph.inputs.some((input) => input.name === candidate));
    return [role, graph.inputs.find((input) => input.name === name)] as const;
  });
  const ports = new Map(named.filter(([, input]) => input !== undefined));
  const isFree = (input: TensorInfo) => ![...ports.values()].includes(input);
  for (const [role, { ranks = [] }] of entries) {
    const fitting = graph.inputs.filter(
      (input) => isFree(input) && ranks.includes(input.dims.length),
    );
    if (!ports.has(role) && fitting.length === 1) ports.set(role, fitting[0]);
  }
  // The keys are those of `roles`; Object.entries has widened them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(ports) as Ports<Role>;
}

/** The first of `names` that the graph declares as an output, or its only one. */
export function findOutput(graph: GraphInfo, names: readonly string[]): string {
  const declared = graph.outputs.map(({ name }) => name);
  const found = names.find((name) => declared.includes(name));
  const [only] = declared;
  if (found !== undefined) return found;
  if (only !== undefined && declared.length === 1) return only;
  throw new Error(`the graph has no output ${names.join(" or ")}, only ${declared.join(", ")}`);
}
