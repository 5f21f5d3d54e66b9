/** How fields of a message are read, whichever message it is. */
import { z } from "zod";
import { JobError } from "../core/errors.js";

/** A wire enum back to the core's word; UNSPECIFIED and numbers of a newer schema are refused. */
export function outcome<const Word extends string>(words: Readonly<Record<Word, string>>) {
  const all = Object.keys(words).filter((word): word is Word => Object.hasOwn(words, word));
  return z.unknown().transform((name, context): Word => {
    const word = all.find((candidate) => words[candidate] === name);
    if (word !== undefined) return word;
    context.addIssue(`unknown outcome ${String(name)}`);
    return z.NEVER;
  });
}

/** A 64-bit integer as text, refused where a number would lose digits. */
export const integer = z
  .string()
  .regex(/^\d{1,16}$/, "must be an integer below 2^53")
  .transform(Number)
  .refine(Number.isSafeInteger, "must be below 2^53");
export const name = z.string().min(1).max(256);

/** A request; what does not fit is the worker's fault. */
export function decode<T>(schema: z.ZodType<T>, wire: unknown): T {
  const parsed = schema.safeParse(wire);
  if (parsed.success) return parsed.data;
  throw new JobError("invalid_value", z.prettifyError(parsed.error));
}

/** An answer; what does not fit is the front's fault. */
export function decodeAnswer<T>(schema: z.ZodType<T>, wire: unknown): T {
  const parsed = schema.safeParse(wire);
  if (parsed.success) return parsed.data;
  throw new JobError(
    "server_error",
    `unusable answer of the front: ${z.prettifyError(parsed.error)}`,
  );
}
