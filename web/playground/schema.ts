/** A JSON schema, as far as a form can be made of it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export type FieldKind = "line" | "text" | "lines" | "number" | "choice" | "flag" | "file" | "json";

/** The schema with those in place that it and its parts refer to. */
export function resolve(schema: Schema, components: Readonly<Record<string, Schema>>): Schema {
  const name = schema.$ref?.split("/").at(-1);
  const named = name === undefined ? schema : (components[name] ?? {});
  const resolveAll = (schemas: readonly Schema[]) => schemas.map((one) => resolve(one, components));
  return {
    ...named,
    ...(named.anyOf && { anyOf: resolveAll(named.anyOf) }),
    ...(named.oneOf && { oneOf: resolveAll(named.oneOf) }),
    ...(named.items && { items: resolve(named.items, components) }),
    ...(named.properties && {
      properties: Object.fromEntries(
        Object.entries(named.properties).map(([field, one]) => [field, resolve(one, components)]),
      ),
    }),
  };
}

/** One input of a form. */
export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly help: string | undefined;
  /** What may be chosen. */
  readonly choices: readonly string[];
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** 1 for whole numbers. */
  readonly step: number | "any";
}

/** Names of strings that are more than a line, and of files that the schema does not call so. */
const LONG = new Set(["prompt", "input", "lyrics", "instructions", "negative_prompt", "messages"]);
const FILES = new Set(["image", "input_reference"]);

/** The input for a field; undefined where there is nothing to choose. */
export function toField(name: string, schema: Schema, isRequired: boolean): Field | undefined {
  const alternatives = flatten(schema);
  const kind = FILES.has(name) ? "file" : kindOf(name, alternatives);
  if (kind === undefined) return undefined;
  const bounds = alternatives.find(({ type }) => type === "integer" || type === "number");
  const choices = alternatives.flatMap((one) => one.enum ?? []).filter(isString);
  return {
    name,
    kind,
    isRequired,
    help: schema.description,
    choices: kind === "choice" ? choices : [],
    min: bounds?.minimum,
    max: bounds?.maximum,
    step: bounds?.type === "integer" ? 1 : "any",
  };
}

/** All that a value may be, null left out. */
function flatten(schema: Schema): Schema[] {
  const nested = schema.anyOf ?? schema.oneOf;
  if (nested !== undefined) return nested.flatMap(flatten);
  const types = [schema.type ?? []].flat();
  if (types.length <= 1) return types[0] === "null" ? [] : [schema];
  const { type: _types, ...rest } = schema;
  return types.filter((type) => type !== "null").map((type) => Object.assign({ type }, rest));
}

function kindOf(name: string, alternatives: readonly Schema[]): FieldKind | undefined {
  const has = (type: string) => alternatives.some((one) => one.type === type);
  if (alternatives.some(({ format }) => format === "binary")) return "file";
  if (name === "messages") return "text";
  if (has("boolean")) return "flag";
  if (has("integer") || has("number")) return "number";
  if (alternatives.some((one) => one.enum !== undefined)) return "choice";
  if (has("string")) return LONG.has(name) ? "text" : "line";
  if (alternatives.some(({ type, items }) => type === "array" && takesText(items))) return "lines";
  return has("object") || has("array") ? "json" : undefined;
}

function takesText(items: Schema | undefined): boolean {
  return items !== undefined && flatten(items).some(({ type }) => type === "string");
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
