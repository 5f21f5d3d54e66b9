import { EMPTY, reference, type Rule } from "./rules.js";

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
  /** Refuses what cannot be held to where the schema is strict. */
  passOver(path: string, what: string): void;
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

export type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a JSON pointer of the form `#/…` leads to; undefined where it leads nowhere. */
function resolvePointer(document: unknown, pointer: string): unknown {
  if (pointer !== "#" && !pointer.startsWith("#/")) return undefined;
  const keys = pointer.split("/").slice(1);
  return keys.map(unescapeKey).reduce<unknown>((value, key) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    return Reflect.get(value, key);
  }, document);
}

function unescapeKey(key: string): string {
  // A percent sign that is no escape stands for itself.
  const decoded = key.replaceAll(/(?:%[0-9a-fA-F]{2})+/g, (escaped) =>
    Buffer.from(escaped.replaceAll("%", ""), "hex").toString("utf8"),
  );
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}

type Merge = (left: unknown, right: unknown) => unknown;

const greater = (left: unknown, right: unknown) => Math.max(Number(left), Number(right));
const smaller = (left: unknown, right: unknown) => Math.min(Number(left), Number(right));
const first: Merge = (left) => left;

/** How keywords that stand in both schemas become one that keeps both; others must be equal. */
const MERGES: Readonly<Record<string, Merge>> = {
  minimum: greater,
  exclusiveMinimum: greater,
  minLength: greater,
  minItems: greater,
  minProperties: greater,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  title: first,
  description: first,
  default: first,
  examples: first,
  $schema: first,
  $id: first,
  $comment: first,
  $defs: first,
  definitions: first,
  required: (left, right) => [...new Set([left, right].flat())],
  type: commonTypes,
  enum: (left, right) => commonValues([left].flat(), [right].flat()),
  properties: mergeProperties,
};

/** A schema that keeps both; or the keyword that cannot be kept for both. */
function mergeSchemas(left: Schema, right: Schema): [conflict: string | undefined, Schema] {
  const merged: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const merge = Object.hasOwn(MERGES, key) ? MERGES[key] : undefined;
    if (!Object.hasOwn(merged, key) || merged[key] === undefined) merged[key] = value;
    else if (merge !== undefined) merged[key] = merge(merged[key], value);
    else if (JSON.stringify(merged[key]) !== JSON.stringify(value)) return [key, left];
  }
  return [conflictOf(left, right), merged];
}

/** A schema that closes its object closes it for the members of the other, too. */
function conflictOf(left: Schema, right: Schema): string | undefined {
  const foreign = (closed: Schema, other: Schema) =>
    closed["additionalProperties"] === false &&
    Object.keys(isSchema(other["properties"]) ? other["properties"] : {}).some(
      (name) => !isSchema(closed["properties"]) || !Object.hasOwn(closed["properties"], name),
    );
  return foreign(left, right) || foreign(right, left) ? "additionalProperties" : undefined;
}

function commonTypes(left: unknown, right: unknown): unknown {
  const types = new Set([right].flat());
  const common = [left].flat().flatMap((type) => {
    if (types.has(type)) return [type];
    const isNumeric = type === "number" || type === "integer";
    const other = type === "number" ? "integer" : "number";
    return isNumeric && types.has(other) ? ["integer"] : [];
  });
  return common.length === 1 ? common[0] : common;
}

function commonValues(left: readonly unknown[], right: readonly unknown[]): unknown[] {
  const texts = new Set(right.map((value) => JSON.stringify(value)));
  return left.filter((value) => texts.has(JSON.stringify(value)));
}

function mergeProperties(left: unknown, right: unknown): unknown {
  if (!isSchema(left) || !isSchema(right)) return left;
  const merged: Record<string, unknown> = { ...left };
  for (const [name, schema] of Object.entries(right)) {
    merged[name] = Object.hasOwn(left, name) ? { allOf: [left[name], schema] } : schema;
  }
  return merged;
}

/** How deep schemas may refer to each other where they are merged. */
const MAX_MERGES = 32;

/** Keywords that say nothing of a value by themselves. */
const ANNOTATIONS = new Set([
  "$ref",
  "$defs",
  "definitions",
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** Whether a schema says nothing of a value, a reference aside. */
export function isBare(schema: Schema): boolean {
  return Object.keys(schema).every((key) => ANNOTATIONS.has(key));
}

/** One rule for each schema that is referred to, so that schemas may hold themselves. */
export function readReference(reader: SchemaReader, pointer: string, path: string): Rule {
  const name = `ref:${pointer}`;
  if (!reader.rules.has(name)) {
    const target = findReference(reader, pointer, path);
    reader.rules.set(name, EMPTY);
    reader.rules.set(name, reader.read(target, pointer));
  }
  return reference(name);
}

function findReference(reader: SchemaReader, pointer: string, path: string): unknown {
  const target = resolvePointer(reader.document, pointer);
  if (target === undefined)
    reader.refuse(path, `refers to ${pointer.slice(0, 80)}, which is not in it`);
  return target;
}

/** The schema with `$ref` and `allOf` merged into it: once, however often it is referred to. */
export function resolveParts(
  reader: SchemaReader,
  schema: Schema,
  path: string,
  depth = 0,
): Schema {
  const known = reader.merged.get(schema);
  if (known !== undefined) return known;
  const merged = mergeParts(reader, schema, path, depth);
  reader.merged.set(schema, merged);
  return merged;
}

function mergeParts(reader: SchemaReader, schema: Schema, path: string, depth: number): Schema {
  const { $ref: pointer, allOf = [], ...own } = schema;
  if (depth > MAX_MERGES) return reader.refuse(path, "merges schemas without an end");
  if (!Array.isArray(allOf)) return reader.refuse(path, "must have an array as allOf");
  const target = typeof pointer === "string" ? [findReference(reader, pointer, path)] : [];
  return [...allOf, ...target].reduce<Schema>((merged, part: unknown) => {
    if (part === true) return merged;
    if (!isSchema(part)) return reader.refuse(path, "must have schemas in allOf");
    const other = resolveParts(reader, part, path, depth + 1);
    reader.spend(sizeOf(merged) + sizeOf(other), path);
    const [key, next] = mergeSchemas(merged, other);
    if (key !== undefined) reader.passOver(path, `has ${key} twice in schemas that are one`);
    return next;
  }, own);
}

/** Keywords, members and values that a merge goes through. */
function sizeOf(schema: Schema): number {
  const { properties, required, enum: values, type } = schema;
  const lists = [required, values, type].map((list) => (Array.isArray(list) ? list.length : 0));
  const members = isSchema(properties) ? Object.keys(properties).length : 0;
  return lists.reduce((sum, length) => sum + length, Object.keys(schema).length + members);
}
