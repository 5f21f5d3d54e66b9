import type { z } from "zod";

/** What a file says, in a schema's words; throws a sentence of `file` and the first field that does not fit. */
export function parseSettings<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${file}: ${issue?.path.join(".")} ${issue?.message}`);
}
