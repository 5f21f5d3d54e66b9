import { EMPTY, reference, type Rule } from "./grammar-rules.js";
import { isSchema, mergeSchemas, resolvePointer, type Schema } from "./grammar-schema-merge.js";
import type { SchemaReader } from "./grammar-schema-reader.js";

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
    return key === undefined
      ? next
      : reader.refuse(path, `has ${key} twice, which cannot be merged,`);
  }, own);
}

/** Keywords, members and values that a merge goes through. */
function sizeOf(schema: Schema): number {
  const { properties, required, enum: values, type } = schema;
  const lists = [required, values, type].map((list) => (Array.isArray(list) ? list.length : 0));
  const members = isSchema(properties) ? Object.keys(properties).length : 0;
  return lists.reduce((sum, length) => sum + length, Object.keys(schema).length + members);
}
