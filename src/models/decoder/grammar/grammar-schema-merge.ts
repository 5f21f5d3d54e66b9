export type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a JSON pointer of the form `#/…` leads to; undefined where it leads nowhere. */
export function resolvePointer(document: unknown, pointer: string): unknown {
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
export function mergeSchemas(left: Schema, right: Schema): [conflict: string | undefined, Schema] {
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
