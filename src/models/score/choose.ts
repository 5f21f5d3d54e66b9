import { JobError } from "../../core/errors.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import type { Chance } from "./read-prompt.js";
import type { DrawSettings } from "./settings.js";

/** What a network that writes some tokens at once reads. */
export interface Reading {
  /** Earlier writings [rows, voices]; absent where it reads none. */
  readonly history?: readonly (readonly number[])[];
  readonly context: readonly number[];
}

export interface Writing {
  /** One of each voice. */
  readonly tokens: readonly number[];
  /** Numbers in 0..1 that come along; empty where there are none. */
  readonly extras: readonly number[];
}

/** Draws the next tokens of a network. Throws `invalid_output` where they are not what they should be. */
export async function choose(
  sessions: SessionThread,
  role: string,
  { reading, voices, draw, chance }: ChooseOptions,
): Promise<Writing> {
  const { history, context } = reading;
  const rows = history?.length ?? 0;
  const outputs = await sessions.run(role, {
    ...(history && { history: int64Of(history.flat(), [1, rows, voices]) }),
    context: int64Of(context, [1, context.length]),
    chances: float32(Float32Array.from({ length: voices }, chance), [1, voices]),
    temperature: float32(Float32Array.of(draw.temperature), [1]),
    least: float32(Float32Array.of(draw.least), [1]),
  });
  const written = outputs["tokens"]?.data;
  if (!(written instanceof BigInt64Array) || written.length !== voices)
    throw new JobError("invalid_output", `the ${role} must write ${voices} tokens`);
  const extras = outputs["extras"] === undefined ? [] : [...floatsOf(outputs, "extras")];
  if (!extras.every(Number.isFinite))
    throw new JobError("invalid_output", `the ${role} wrote loudnesses that are not numbers`);
  return { tokens: Array.from(written, Number), extras };
}

export interface ChooseOptions {
  readonly reading: Reading;
  readonly voices: number;
  readonly draw: DrawSettings;
  readonly chance: Chance;
}
