import { JobError } from "../../core/errors.js";
import { jsonRules, VALUE } from "./grammar-json.js";
import {
  choice,
  type Grammar,
  optional,
  reference,
  type Rule,
  sequence,
  text,
} from "./grammar-rules.js";
import { arrayRule } from "./grammar-schema-array.js";
import { isSchema, type Schema } from "./grammar-schema-merge.js";
import { objectRule } from "./grammar-schema-object.js";
import { isBare, readReference, resolveParts } from "./grammar-schema-parts.js";
import type { SchemaReader } from "./grammar-schema-reader.js";
import { numberRule, stringRule } from "./grammar-schema-scalar.js";

/** Any object of JSON. */
export const JSON_OBJECT: Grammar = {
  root: sequence(optional(text(" ")), reference("object")),
  rules: jsonRules(),
};

const MAX_SCHEMAS = 20_000;

/** Keywords that would go unchecked: better refused than ignored. */
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

/**
 * The JSON texts that a schema admits: members in the order of `properties`, numbers without exponents.
 * Every text of the grammar is valid (of `oneOf`, at least one schema is met). Throws `invalid_value`
 * with `param` for a schema that cannot be held to.
 */
export function grammarOfSchema(schema: unknown, param: string): Grammar {
  const reader = createSchemaReader(schema, param);
  return { root: sequence(optional(text(" ")), reader.read(schema, "#")), rules: reader.rules };
}

/** Reads the schemas of a document, whose refusals name `param`. */
export function createSchemaReader(document: unknown, param: string): SchemaReader {
  const rules = jsonRules();
  let names = 0;
  let count = 0;
  const reader: SchemaReader = {
    document,
    rules,
    newName: () => `rule-${(names += 1)}`,
    refuse(path, what) {
      throw new JobError("invalid_value", `${param}: the schema ${what} at ${path}`, { param });
    },
    read(schema, path) {
      count += 1;
      if (count > MAX_SCHEMAS) reader.refuse(path, `has more than ${MAX_SCHEMAS} parts`);
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
  const unsupported = UNSUPPORTED.find((key) => schema[key] !== undefined);
  if (unsupported !== undefined)
    return reader.refuse(path, `has ${unsupported}, which is not supported,`);
  if (schema["const"] !== undefined) return text(JSON.stringify(schema["const"]));
  if (schema["enum"] !== undefined) return readEnum(reader, schema, path);
  for (const key of ["anyOf", "oneOf"] as const)
    if (schema[key] !== undefined) return readAlternatives(reader, schema, { key, path });
  const { type = impliedType(schema) } = schema;
  if (Array.isArray(type)) {
    const options = type.map((one: unknown) => readSchema(reader, { ...schema, type: one }, path));
    return options.length > 0 ? choice(...options) : reader.refuse(path, "must have a type");
  }
  const rule = readType(reader, { ...schema, type }, path);
  return schema["nullable"] === true ? choice(rule, text("null")) : rule;
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
  const rules = options.map((option: unknown, index) => {
    const at = `${path}/${key}/${index}`;
    return reader.read(isBare(base) ? option : { ...base, allOf: [option] }, at);
  });
  return choice(...rules);
}
