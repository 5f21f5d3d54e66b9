import { JobError, toJobError } from "../../../core/errors.js";
import type { JobFailure } from "../../../core/job.js";
import { jsonRules, VALUE } from "./json.js";
import { buildNetwork } from "./network.js";
import { choice, type Grammar, optional, reference, type Rule, sequence, text } from "./rules.js";
import {
  isBare,
  isSchema,
  readReference,
  resolveParts,
  type Schema,
  type SchemaReader,
} from "./schema-parts.js";
import { arrayRule, numberRule, objectRule, stringRule } from "./schema-types.js";

/** Any object of JSON. */
export const JSON_OBJECT: Grammar = {
  root: sequence(optional(text(" ")), reference("object")),
  rules: jsonRules(),
};

/** Schemas that are read or merged, with their keywords, members, values and characters: some 50 ms of work. */
const MAX_PARTS = 25_000;
/** Of all schemas of a request. */
const MAX_REQUEST_PARTS = 100_000;

/** What the schemas of one request have taken of its budget so far. */
export interface Spent {
  parts: number;
  /** Where less than the usual budget is to be spent. */
  readonly most?: number;
}

/** Keywords that no grammar holds to. */
const UNSUPPORTED = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "minContains",
  "maxContains",
  "patternProperties",
  "propertyNames",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
  "$recursiveRef",
];

interface Reading {
  /** Names where the schema came in, in refusals. */
  readonly param: string;
  /** Whether a schema is refused that cannot be held to in all it says; else what cannot be is passed over. */
  readonly isStrict?: boolean;
  readonly spent?: Spent;
}

/**
 * The JSON texts that a schema admits: members in the order of `properties`, numbers without exponents.
 * Where it is strict every text of the grammar is valid (of `oneOf`, at least one schema is met). Throws
 * `invalid_value` with `param` for a schema that cannot be held to.
 */
export function grammarOfSchema(schema: unknown, reading: Reading): Grammar {
  const reader = createSchemaReader(schema, reading);
  return { root: sequence(optional(text(" ")), reader.read(schema, "#")), rules: reader.rules };
}

/** Reads the schemas of a document. */
export function createSchemaReader(
  document: unknown,
  { param, isStrict = false, spent = { parts: 0 } }: Reading,
): SchemaReader {
  const rules = jsonRules();
  let names = 0;
  let parts = 0;
  const reader: SchemaReader = {
    document,
    rules,
    merged: new WeakMap(),
    spend(units, path) {
      parts += units;
      spent.parts += units;
      if (parts > MAX_PARTS) reader.refuse(path, `has more than ${MAX_PARTS} parts`);
      const { most = MAX_REQUEST_PARTS } = spent;
      if (spent.parts > most)
        reader.refuse(path, `is one of several with more than ${most} parts together`);
    },
    newName: () => `rule-${(names += 1)}`,
    refuse(path, what) {
      throw new JobError("invalid_value", `${param}: the schema ${what} at ${path}`, { param });
    },
    passOver(path, what) {
      if (isStrict) reader.refuse(path, `${what}, which is not supported,`);
    },
    read(schema, path) {
      reader.spend(1, path);
      if (schema === true) return VALUE;
      if (!isSchema(schema)) return reader.refuse(path, "must be an object or true");
      if (typeof schema["$ref"] === "string" && isBare(schema))
        return readReference(reader, schema["$ref"], path);
      return readSchema(reader, resolveParts(reader, schema, path), path);
    },
  };
  return reader;
}

function readSchema(reader: SchemaReader, schema: Schema, path: string): Rule {
  const unsupported = UNSUPPORTED.find(
    (key) => schema[key] !== undefined && !isAnyName(schema, key),
  );
  if (unsupported !== undefined) reader.passOver(path, `has ${unsupported}`);
  if (schema["const"] !== undefined) return text(JSON.stringify(schema["const"]));
  if (schema["enum"] !== undefined) return readEnum(reader, schema, path);
  for (const key of ["anyOf", "oneOf"] as const)
    if (schema[key] !== undefined) return readAlternatives(reader, schema, { key, path });
  const { type = impliedType(schema) } = schema;
  if (Array.isArray(type)) {
    if (new Set<unknown>(type).size < type.length) reader.refuse(path, "must have each type once,");
    const options = type.map((one: unknown) => {
      reader.spend(Object.keys(schema).length, path);
      return readSchema(reader, { ...schema, type: one }, path);
    });
    return options.length > 0 ? choice(...options) : reader.refuse(path, "must have a type");
  }
  const rule = readType(reader, { ...schema, type }, path);
  return schema["nullable"] === true ? choice(rule, text("null")) : rule;
}

/** Whether the keyword says only that names are strings, as zod writes it of every record. */
function isAnyName(schema: Schema, key: string): boolean {
  return key === "propertyNames" && JSON.stringify(schema[key]) === '{"type":"string"}';
}

/** A schema without a type means the one that its keywords are about. */
function impliedType(schema: Schema): string | undefined {
  const has = (...keys: string[]) => keys.some((key) => schema[key] !== undefined);
  if (has("properties", "required", "additionalProperties", "minProperties", "maxProperties"))
    return "object";
  if (has("items", "prefixItems", "minItems", "maxItems")) return "array";
  if (has("pattern", "minLength", "maxLength", "format")) return "string";
  const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
  return has(...bounds) ? "number" : undefined;
}

function readType(reader: SchemaReader, schema: Schema, path: string): Rule {
  switch (schema["type"]) {
    case undefined:
      return VALUE;
    case "object":
      return objectRule(reader, schema, path);
    case "array":
      return arrayRule(reader, schema, path);
    case "string":
      return stringRule(reader, schema, path);
    case "number":
    case "integer":
      return numberRule(reader, schema, path);
    case "boolean":
      return choice(text("true"), text("false"));
    case "null":
      return text("null");
    default:
      return reader.refuse(path, "has a type that JSON does not have,");
  }
}

function readEnum(reader: SchemaReader, schema: Schema, path: string): Rule {
  const values: unknown = schema["enum"];
  if (!Array.isArray(values) || values.length === 0)
    return reader.refuse(path, "must have at least one value in enum");
  reader.spend(values.length, path);
  const types = [schema["type"] ?? []].flat();
  const fitting = values.filter(
    (value) => types.length === 0 || types.some((type) => isOfType(value, type)),
  );
  if (fitting.length === 0) return reader.refuse(path, "has no value of its type in enum,");
  return choice(...fitting.map((value) => text(JSON.stringify(value))));
}

function isOfType(value: unknown, type: unknown): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (typeof value === "number")
    return type === "number" || (type === "integer" && Number.isInteger(value));
  return typeof value === type;
}

function readAlternatives(
  reader: SchemaReader,
  schema: Schema,
  { key, path }: { readonly key: "anyOf" | "oneOf"; readonly path: string },
): Rule {
  const { [key]: options, ...base } = schema;
  if (!Array.isArray(options) || options.length === 0)
    return reader.refuse(path, `must have at least one schema in ${key}`);
  // Equal ones would be followed side by side, each with all that comes after it.
  const distinct = new Map(options.map((option: unknown) => [JSON.stringify(option), option]));
  const rules = [...distinct.values()].map((option, index) => {
    const at = `${path}/${key}/${index}`;
    return reader.read(isBare(base) ? option : { ...base, allOf: [option] }, at);
  });
  return choice(...rules);
}

/** A schema of a request, and the parameter that it came in. */
export interface CheckedSchema {
  readonly schema: unknown;
  readonly param: string;
  readonly isStrict: boolean;
}

/**
 * Why one of the schemas of a request could not be held to; null where all can. What takes longest is to
 * lay out the places of a text: `follow` leaves that out where false.
 */
export function findRefusal(
  schemas: readonly CheckedSchema[],
  { spent = { parts: 0 }, follow }: { readonly spent?: Spent; readonly follow: boolean },
): JobFailure | null {
  for (const { schema, param, isStrict } of schemas) {
    try {
      const grammar = grammarOfSchema(schema, { param, isStrict, spent });
      if (follow) buildNetwork(grammar);
    } catch (thrown) {
      const { code, message } = toJobError(thrown);
      return code === "invalid_value"
        ? { code, message, param }
        : { code: "invalid_value", message: `${param}: ${message}`, param };
    }
  }
  return null;
}
