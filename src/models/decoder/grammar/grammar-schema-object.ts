import { GAP, listOf, member, PLAIN_CHARACTERS } from "./grammar-json.js";
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
} from "./grammar-rules.js";
import { isSchema, type Schema } from "./grammar-schema-merge.js";
import { readCount, type SchemaReader } from "./grammar-schema-reader.js";

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
  if (minimum > 1) reader.refuse(path, "has minProperties above 1, which is not supported,");
  if (maximum !== null && minimum > maximum)
    reader.refuse(path, "has more minProperties than maxProperties");
  const edges = { open: "{", close: "}" } as const;
  if (additional === false) return listOf(EMPTY, { ...edges, minimum: 0, maximum: 0 });
  const value = reader.read(additional, `${path}/additionalProperties`);
  return listOf(member(reference("string"), value), { ...edges, minimum, maximum });
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
  if (minimum > required)
    reader.refuse(path, "has more minProperties than required names, which is not supported,");
  const isOpen = (schema["additionalProperties"] ?? false) !== false;
  if (maximum < names || (isOpen && maximum < Infinity))
    reader.refuse(path, "has maxProperties beside properties, which is not supported,");
}

/** One rule for what follows each property, with a comma or, where nothing stands before it, without. */
function membersRule(
  reader: SchemaReader,
  members: readonly Member[],
  others: Rule | undefined,
): Rule {
  const prefix = reader.newName();
  const name = (index: number, isFirst: boolean) => `${prefix}/${index}/${isFirst}`;
  const comma = (isFirst: boolean) => (isFirst ? GAP : sequence(text(","), GAP));
  for (const isFirst of [true, false]) {
    for (const [index, { rule, isRequired }] of members.entries()) {
      const present = sequence(comma(isFirst), rule, reference(name(index + 1, false)));
      const absent = reference(name(index + 1, isFirst));
      reader.rules.set(name(index, isFirst), isRequired ? present : choice(present, absent));
    }
    const more =
      others && sequence(comma(isFirst), others, repeat(sequence(comma(false), others), 0));
    reader.rules.set(name(members.length, isFirst), more ? optional(more) : EMPTY);
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
