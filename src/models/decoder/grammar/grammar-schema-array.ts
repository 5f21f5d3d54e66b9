import { GAP, listOf } from "./grammar-json.js";
import { EMPTY, optional, repeat, type Rule, sequence, text } from "./grammar-rules.js";
import type { Schema } from "./grammar-schema-merge.js";
import { readCount, type SchemaReader } from "./grammar-schema-reader.js";

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
  if (schema["uniqueItems"] === true)
    reader.refuse(path, "has uniqueItems, which is not supported,");
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
