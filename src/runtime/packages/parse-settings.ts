import type { z } from "zod";

/** What a file says, in a schema's words; throws an error that names `file` and the first field that does not fit. */
export function parseSettings<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${[file, issue?.path.join(".")].filter(Boolean).join(": ")} ${issue?.message}`);
}

/** The same of a file's text. */
export function parseJson<T>(schema: z.ZodType<T>, text: string, file: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not JSON`, { cause });
  }
  return parseSettings(schema, value, file);
}
