import type { Rule } from "./grammar-rules.js";
import type { Schema } from "./grammar-schema-merge.js";

/** Reads one schema after another into rules. */
export interface SchemaReader {
  /** What references lead into. */
  readonly document: unknown;
  readonly rules: Map<string, Rule>;
  /** The rule of a schema; `path` says where it stands, for refusals. */
  read(schema: unknown, path: string): Rule;
  /** Takes from the document's budget of work; refuses the schema once that is spent. */
  spend(units: number, path: string): void;
  /** Schemas with `$ref` and `allOf` merged into them, by the schema they were. */
  readonly merged: WeakMap<Schema, Schema>;
  /** A name that no rule has. */
  newName(): string;
  refuse(path: string, what: string): never;
}

/** A bound that is a whole number of 0 or more; undefined where there is none. */
export function readCount(
  reader: SchemaReader,
  { schema, key, path }: { readonly schema: Schema; readonly key: string; readonly path: string },
): number | undefined {
  const value = schema[key];
  if (value === undefined) return undefined;
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0;
  return isCount ? value : reader.refuse(path, `must have a whole number as ${key}`);
}
