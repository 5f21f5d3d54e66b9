import { formatPattern } from "./grammar-formats.js";
import { INTEGER, NUMBER, stringOf } from "./grammar-json.js";
import { numberWithin } from "./grammar-numbers.js";
import { patternRule } from "./grammar-pattern.js";
import { type Rule, sequence, text } from "./grammar-rules.js";
import type { Schema } from "./grammar-schema-merge.js";
import { readCount, type SchemaReader } from "./grammar-schema-reader.js";

/** A string: of a pattern, of a format that is held to, or of a length. */
export function stringRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const minimum = readCount(reader, { schema, key: "minLength", path }) ?? 0;
  const maximum = readCount(reader, { schema, key: "maxLength", path }) ?? null;
  if (maximum !== null && minimum > maximum)
    reader.refuse(path, "has more minLength than maxLength");
  const { pattern, format } = schema;
  const own = typeof pattern === "string" ? pattern : undefined;
  if (own !== undefined && (minimum > 0 || maximum !== null))
    reader.refuse(path, "has a length beside a pattern, which is not supported,");
  const source = own ?? (typeof format === "string" ? formatPattern(format) : undefined);
  return source === undefined ? stringOf(minimum, maximum) : quotedPattern(reader, source, path);
}

function quotedPattern(reader: SchemaReader, source: string, path: string): Rule {
  reader.spend(4 * source.length, path);
  try {
    return sequence(text('"'), patternRule(source), text('"'));
  } catch (error) {
    return reader.refuse(path, `is not usable: ${error instanceof Error ? error.message : ""},`);
  }
}

/** A number or an integer within its bounds. */
export function numberRule(reader: SchemaReader, schema: Schema, path: string): Rule {
  const isInteger = schema["type"] === "integer";
  const { multipleOf } = schema;
  if (multipleOf !== undefined && !(isInteger && multipleOf === 1))
    reader.refuse(path, "has multipleOf, which is not supported,");
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
  const rule = numberWithin({
    minimum: low,
    maximum: high,
    excludesMinimum: excludes("exclusiveMinimum", low),
    excludesMaximum: excludes("exclusiveMaximum", high),
    isInteger,
  });
  return rule ?? reader.refuse(path, "has bounds that no number keeps");
}

function tighter(
  values: readonly (number | null)[],
  pick: (...values: number[]) => number,
): number | null {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : pick(...given);
}
