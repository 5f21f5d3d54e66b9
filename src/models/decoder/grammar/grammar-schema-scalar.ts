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
function formatPattern(format: string): string | undefined {
  return Object.hasOwn(FORMATS, format) ? `^${FORMATS[format]}$` : undefined;
}
