import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";

/** The number of a step, from 0, and the latents before it, float32. */
export interface ComputedStep {
  readonly step: number;
  readonly sample: Float32Array;
}

/** Where denoising stands: what another worker goes on from to make the same frames. */
export interface DenoiseState {
  /** Steps done. */
  readonly step: number;
  /** Latents after them, float32. */
  readonly sample: Float32Array;
  /** What the scheduler remembers of the steps before, arrays of the latents' length; none by default. */
  readonly memory?: readonly Float32Array[];
  /** Steps whose work later ones may reuse, one for each prompt; none by default. */
  readonly computed?: readonly ComputedStep[];
}

/** What a checkpoint must have been made for to be of use. */
export interface CheckpointKind {
  readonly modelId: string;
  readonly steps: number;
  /** Numbers of the latents. */
  readonly length: number;
}

const LINE_FEED = 10;
/** More than any scheduler remembers. */
const MAX_ARRAYS = 8;

/** A line of JSON, then the latents, the scheduler's memory and those of computed steps as little-endian float32. */
export function encodeCheckpoint(
  kind: CheckpointKind,
  { step, sample, memory = [], computed = [] }: DenoiseState,
): Uint8Array {
  const head = { ...kind, step, arrays: memory.length, computed: computed.map((one) => one.step) };
  const line = Buffer.from(`${JSON.stringify(head)}\n`);
  const arrays = [sample, ...memory, ...computed.map((one) => one.sample)];
  const bytes = arrays.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  return Buffer.concat([line, ...bytes]);
}

/** Undefined where the bytes are of another model, or are no checkpoint. */
export function decodeCheckpoint(
  bytes: Uint8Array | undefined,
  { modelId, steps, length }: CheckpointKind,
): DenoiseState | undefined {
  if (bytes === undefined) return undefined;
  const end = Math.max(0, bytes.indexOf(LINE_FEED));
  const made = z.object({
    modelId: z.literal(modelId),
    steps: z.literal(steps),
    length: z.literal(length),
    step: z.int().min(0).max(steps),
    arrays: z.int().min(0).max(MAX_ARRAYS).default(0),
    computed: z.array(z.int().min(0).max(steps)).max(MAX_ARRAYS).default([]),
  });
  const head = made.safeParse(parseJson(Buffer.from(bytes.subarray(0, end)).toString()));
  const data = Uint8Array.from(bytes.subarray(end + 1));
  if (!head.success) return undefined;
  const { step, arrays, computed } = head.data;
  const count = 1 + arrays + computed.length;
  const floats = count * length;
  if (data.byteLength !== floats * Float32Array.BYTES_PER_ELEMENT) return undefined;
  const all = new Float32Array(data.buffer);
  if (!all.every(Number.isFinite)) return undefined;
  const [sample = all, ...rest] = Array.from({ length: count }, (_, index) =>
    all.subarray(index * length, (index + 1) * length),
  );
  const samples = rest.splice(arrays);
  return {
    step,
    sample,
    ...(arrays > 0 && { memory: rest }),
    ...(samples.length > 0 && {
      computed: samples.map((one, index) => ({ step: computed[index] ?? step, sample: one })),
    }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Hands what is done to the next worker and ends the job here: the caller's generator never goes on. */
export async function* handOver(
  scratchPath: string,
  kind: CheckpointKind,
  state: DenoiseState,
): AsyncGenerator<PipelineEvent<never>, never> {
  const path = join(scratchPath, "checkpoint.bin");
  await writeFile(path, encodeCheckpoint(kind, state));
  yield { type: "checkpoint", path };
  throw new JobError("preempted", `left after step ${state.step} of ${kind.steps}`);
}
