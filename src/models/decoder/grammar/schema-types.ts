import { messageOf } from "../../../core/errors.js";
import {
  GAP,
  INTEGER,
  listOf,
  member,
  NUMBER,
  PLAIN_CHARACTERS,
  STRING,
  stringOf,
} from "./json.js";
import { numberWithin } from "./numbers.js";
import { patternRule } from "./pattern.js";
import {
  between,
  type CharacterRange,
  characters,
  choice,
  EMPTY,
  optional,
  reference,
  repeat,
  type Rule,
  sequence,
  text,
} from "./rules.js";
import { isSchema, readCount, type Schema, type SchemaReader } from "./schema-parts.js";

interface Member {
  readonly rule: Rule;
  readonly isRequired: boolean;
}

/**
 * An object: its properties in their order, each once, and then further members where
 * `additionalProperties` is given. Without it, an object that names properties has no others.
 */
export function objectRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const { properties = {}, required = [], additionalProperties: additional } = schema;
  if (!isSchema(properties)) return reader.refuse(path, "must have an object as properties");
  if (!Array.isArray(required)) return reader.refuse(path, "must have an array as required");
  const needed = new Set(required.map(String));
  const names = [...new Set([...Object.keys(properties), ...needed])];
  if (names.length === 0) return mapRule(reader, schema, path);
  const isOpen = additional !== undefined && additional !== false;
  reader.spend(isOpen ? 2 * names.join("").length : names.length, path);
  checkCounts(reader, schema, { path, required: required.length, names: names.length });
  const members = names.map((name): Member => {
    const own = Object.hasOwn(properties, name) ? properties[name] : (additional ?? true);
    if (own === false)
      return reader.refuse(path, `requires ${name.slice(0, 64)}, which it excludes,`);
    const value = reader.read(own, `${path}/properties/${name.slice(0, 64)}`);
    return { rule: member(text(JSON.stringify(name)), value), isRequired: needed.has(name) };
  });
  const others = isOpen
    ? member(nameOutside(names), reader.read(additional, `${path}/additionalProperties`))
    : undefined;
  return sequence(text("{"), membersRule(reader, members, others), GAP, text("}"));
}

/** An object without named properties. */
function mapRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const additional = schema["additionalProperties"] ?? true;
  const minimum = readCount(reader, { schema, key: "minProperties", path }) ?? 0;
  const maximum = readCount(reader, { schema, key: "maxProperties", path }) ?? null;
  // Names may repeat, and a reader counts them once.
  if (minimum > 1) reader.passOver(path, "has minProperties above 1");
  if (maximum !== null && minimum > maximum)
    reader.refuse(path, "has more minProperties than maxProperties");
  const edges = { open: "{", close: "}" } as const;
  if (additional === false) return listOf(EMPTY, { ...edges, minimum: 0, maximum: 0 });
  const value = reader.read(additional, `${path}/additionalProperties`);
  return listOf(member(STRING, value), { ...edges, minimum, maximum });
}

function checkCounts(
  reader: SchemaReader,
  schema: Schema,
  {
    path,
    required,
    names,
  }: { readonly path: string; readonly required: number; readonly names: number },
): void {
  const minimum = readCount(reader, { schema, key: "minProperties", path }) ?? 0;
  const maximum = readCount(reader, { schema, key: "maxProperties", path }) ?? Infinity;
  if (minimum > required) reader.passOver(path, "has more minProperties than required names");
  const isOpen = (schema["additionalProperties"] ?? false) !== false;
  if (maximum < names || (isOpen && maximum < Infinity))
    reader.passOver(path, "has maxProperties beside properties");
}

/** Properties with a comma or, where nothing stands before, without; then the others. */
function membersRule(
  reader: SchemaReader,
  members: readonly Member[],
  others: Rule | undefined,
): Rule {
  const comma = (isFirst: boolean) => (isFirst ? GAP : sequence(text(","), GAP));
  const more = (isFirst: boolean) =>
    others && optional(sequence(comma(isFirst), others, repeat(sequence(comma(false), others), 0)));
  return membersInOrder(reader, members, { separator: comma, more });
}

/**
 * Members in their order, those that are not required perhaps, and what may follow them. One rule stands
 * for a member and one for what follows it, so that their number is bounded.
 */
export function membersInOrder(
  reader: SchemaReader,
  members: readonly Member[],
  around: {
    /** Before a member; nothing stands before the first. */
    readonly separator: (isFirst: boolean) => Rule;
    readonly more?: (isFirst: boolean) => Rule | undefined;
  },
): Rule {
  const { rules } = reader;
  const prefix = reader.newName();
  const name = (index: number, isFirst: boolean) => `${prefix}/${index}/${isFirst}`;
  for (const [index, { rule }] of members.entries()) rules.set(`${prefix}/${index}`, rule);
  for (const isFirst of [true, false]) {
    for (const [index, { isRequired }] of members.entries()) {
      const rule = reference(`${prefix}/${index}`);
      const present = sequence(around.separator(isFirst), rule, reference(name(index + 1, false)));
      const absent = reference(name(index + 1, isFirst));
      rules.set(name(index, isFirst), isRequired ? present : choice(present, absent));
    }
    rules.set(name(members.length, isFirst), around.more?.(isFirst) ?? EMPTY);
  }
  return reference(name(0, true));
}

interface NameTree {
  readonly children: Map<string, NameTree>;
  isName: boolean;
}

/** A member's name, written without escapes, that is none of these. */
function nameOutside(names: readonly string[]): Rule {
  const root: NameTree = { children: new Map(), isName: false };
  for (const name of names) {
    let at = root;
    for (const character of name) {
      const next = at.children.get(character) ?? { children: new Map(), isName: false };
      at.children.set(character, next);
      at = next;
    }
    at.isName = true;
  }
  return sequence(text('"'), outside(root), text('"'));
}

function outside({ children, isName }: NameTree): Rule {
  const taken = [...children.keys()].map((character) => character.codePointAt(0) ?? 0);
  const free = PLAIN_CHARACTERS.flatMap((range) => without(range, taken));
  const others = sequence(characters(...free), repeat(characters(...PLAIN_CHARACTERS), 0));
  const deeper = [...children].map(([character, child]) =>
    sequence(characters(between(character, character)), outside(child)),
  );
  return choice(...(isName ? [] : [EMPTY]), others, ...deeper);
}

function without([first, last]: CharacterRange, codes: readonly number[]): CharacterRange[] {
  const ranges: CharacterRange[] = [];
  let next = first;
  for (const code of codes.toSorted((left, right) => left - right)) {
    if (code < next || code > last) continue;
    if (code > next) ranges.push([next, code - 1]);
    next = code + 1;
  }
  return next > last ? ranges : [...ranges, [next, last]];
}

/** An array, with the first items of their own kinds where `prefixItems` says so. */
export function arrayRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const edges = { open: "[", close: "]" } as const;
  const { minimum, maximum } = itemCounts(reader, schema, path);
  const { prefix, rest } = itemSchemas(schema);
  if (!Array.isArray(prefix)) return reader.refuse(path, "must have an array as prefixItems");
  if (prefix.length > 0) return tupleRule(reader, { prefix, rest, minimum, maximum, path });
  if (rest === false) return listOf(EMPTY, { ...edges, minimum: 0, maximum: 0 });
  return listOf(reader.read(rest ?? true, `${path}/items`), { ...edges, minimum, maximum });
}

function itemCounts(reader: SchemaReader, schema: Schema, path: string) {
  if (schema["uniqueItems"] === true) reader.passOver(path, "has uniqueItems");
  const minimum = readCount(reader, { schema, key: "minItems", path }) ?? 0;
  const maximum = readCount(reader, { schema, key: "maxItems", path }) ?? null;
  if (maximum !== null && minimum > maximum) reader.refuse(path, "has more minItems than maxItems");
  return { minimum, maximum };
}

/** Drafts before 2020-12 wrote prefixItems as an array of items. */
function itemSchemas({ items, prefixItems = [], additionalItems }: Schema) {
  if (Array.isArray(items)) return { prefix: items, rest: additionalItems };
  return { prefix: prefixItems, rest: items };
}

function tupleRule(
  reader: SchemaReader,
  tuple: {
    readonly prefix: readonly unknown[];
    readonly rest: unknown;
    readonly minimum: number;
    readonly maximum: number | null;
    readonly path: string;
  },
): Rule {
  const { prefix, minimum, path } = tuple;
  const maximum = tuple.maximum ?? Infinity;
  const length = Math.min(prefix.length, maximum);
  const isOpen = tuple.rest !== false && tuple.rest !== undefined && maximum > length;
  if (!isOpen && minimum > length) reader.refuse(path, "needs more items than it has");
  const comma = (index: number) => (index === 0 ? GAP : sequence(text(","), GAP));
  const following = (count: number) =>
    repeat(
      sequence(comma(length), reader.read(tuple.rest, `${path}/items`)),
      Math.max(0, minimum - count),
      maximum === Infinity ? null : maximum - count,
    );
  let rule: Rule = isOpen ? following(length) : EMPTY;
  for (let index = length - 1; index >= 0; index -= 1) {
    const item = reader.read(prefix[index], `${path}/prefixItems/${index}`);
    const filled = sequence(comma(index), item, rule);
    rule = index < minimum ? filled : optional(filled);
  }
  return sequence(text("["), rule, GAP, text("]"));
}

/** A string: of a pattern, of a format that is held to, or of a length. */
export function stringRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const minimum = readCount(reader, { schema, key: "minLength", path }) ?? 0;
  const maximum = readCount(reader, { schema, key: "maxLength", path }) ?? null;
  if (maximum !== null && minimum > maximum)
    reader.refuse(path, "has more minLength than maxLength");
  const { pattern, format } = schema;
  const own = typeof pattern === "string" ? pattern : undefined;
  if (own !== undefined && (minimum > 0 || maximum !== null))
    reader.passOver(path, "has a length beside a pattern");
  const source = own ?? formatPattern(format);
  const quoted = source === undefined ? undefined : quotedPattern(reader, source, path);
  return quoted ?? stringOf(minimum, maximum);
}

/** Undefined for a pattern that is passed over. */
function quotedPattern(reader: SchemaReader, source: string, path: string): Rule | undefined {
  reader.spend(4 * source.length, path);
  try {
    return sequence(text('"'), patternRule(source), text('"'));
  } catch (error) {
    reader.passOver(path, `has a pattern (${messageOf(error)})`);
    return undefined;
  }
}

/** A number or an integer within its bounds. */
export function numberRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const isInteger = schema["type"] === "integer";
  const { multipleOf } = schema;
  if (multipleOf !== undefined && !(isInteger && multipleOf === 1))
    reader.passOver(path, "has multipleOf");
  const bound = (key: string): number | null => {
    const value = schema[key];
    if (value === undefined || typeof value === "boolean") return null;
    const isNumber = typeof value === "number" && Number.isFinite(value);
    return isNumber ? value : reader.refuse(path, `must have a number as ${key}`);
  };
  const low = tighter([bound("minimum"), bound("exclusiveMinimum")], Math.max);
  const high = tighter([bound("maximum"), bound("exclusiveMaximum")], Math.min);
  if (low === null && high === null) return isInteger ? INTEGER : NUMBER;
  // A rule for each place of its digits.
  reader.spend(16 * `${low ?? ""}${high ?? ""}`.length, path);
  // Draft 4 wrote exclusive bounds as a boolean beside the bound.
  const excludes = (key: string, value: number | null) =>
    schema[key] === true || (value !== null && bound(key) === value);
  const bounds = {
    minimum: low,
    maximum: high,
    excludesMinimum: excludes("exclusiveMinimum", low),
    excludesMaximum: excludes("exclusiveMaximum", high),
    isInteger,
  };
  const name = `number ${JSON.stringify(bounds)}`;
  const rule = reader.rules.get(name) ?? numberWithin(bounds);
  if (rule === undefined) return reader.refuse(path, "has bounds that no number keeps");
  reader.rules.set(name, rule);
  return reference(name);
}

function tighter(
  values: readonly (number | null)[],
  pick: (...values: number[]) => number,
): number | null {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : pick(...given);
}

/** Patterns of the string formats that are held to; each keeps to a safe part of its format. */

const DATE =
  "\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const TIME =
  "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,20}[a-zA-Z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}\\.[a-zA-Z]{2,10}`;
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";

const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  "date-time": `${DATE}T${TIME}`,
  duration:
    "P(?:\\d{1,6}W|\\d{1,6}D(?:T\\d{1,6}H)?|T\\d{1,6}[HMS]|T\\d{1,6}H\\d{1,6}M(?:\\d{1,6}S)?)",
  email: `[A-Za-z0-9_+-]{1,32}(?:\\.[A-Za-z0-9_+-]{1,16}){0,2}@${HOST}`,
  hostname: HOST,
  ipv4: `${BYTE}(?:\\.${BYTE}){3}`,
  ipv6: "(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}",
  uuid: "[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
  uri: `https?://${HOST}(?:/[A-Za-z0-9._~+-]{0,64}){0,16}(?:\\?[A-Za-z0-9._~=&+-]{0,256})?`,
};

/** Undefined for a format that is only a note, as JSON Schema lets every format be. */
function formatPattern(format: unknown): string | undefined {
  const isHeldTo = typeof format === "string" && Object.hasOwn(FORMATS, format);
  return isHeldTo ? `^${FORMATS[format]}$` : undefined;
}
