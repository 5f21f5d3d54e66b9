import type { z } from "zod";
import { JobError } from "../../core/errors.js";
import { describe, invalidValue, wholeNumber } from "./request-body.js";

const MAX_SIDE = 16_384;

/** Fields by which other servers say one of an endpoint's own; all of them must be given. */
export interface OtherNames {
  readonly own: string;
  readonly fields: Readonly<Record<string, z.ZodType<number>>>;
  /** The own field's value from theirs, in their order. Throws where there is none. */
  readonly toOwn: (...values: number[]) => string | number;
}

/** `width` and `height` in pixels. */
export const SIDES: OtherNames = {
  own: "size",
  fields: { width: wholeNumber("width", 1, MAX_SIDE), height: wholeNumber("height", 1, MAX_SIDE) },
  toOwn: (width, height) => `${width}x${height}`,
};

/** A body with its own fields in place of others' names for them, which must not say something else. */
export function withOwnNames(body: unknown, table: readonly OtherNames[]): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const fields = new Map<string, unknown>(Object.entries(body));
  for (const entry of table) rename(fields, entry);
  return Object.fromEntries(fields);
}

function rename(body: Map<string, unknown>, { own, fields, toOwn }: OtherNames): void {
  const names = Object.keys(fields);
  const given = names.filter((name) => isGiven(body.get(name)));
  const missing = names.find((name) => !given.includes(name));
  if (given.length > 0 && missing !== undefined) {
    const message = `${missing} is required where ${given.join(" and ")} is given`;
    throw new JobError("missing_required_parameter", message, { param: missing });
  }
  const values = given.map((name) => read(fields, name, body.get(name)));
  for (const name of names) body.delete(name);
  if (given.length === 0) return;
  const value = toOwn(...values);
  const before = body.get(own);
  if (isGiven(before) && String(before) !== String(value)) {
    const said = names.map((name, index) => `${name} ${values[index]}`).join(", ");
    const message = `${own} must say what ${names.join(" and ")} say (${said}), got ${describe(before)}`;
    throw invalidValue(own, message);
  }
  body.set(own, before ?? value);
}

function read(fields: OtherNames["fields"], name: string, value: unknown): number {
  const parsed = fields[name]?.safeParse(value);
  if (parsed?.success === true) return parsed.data;
  throw invalidValue(name, parsed?.error.issues[0]?.message ?? `${name} is not a number`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
