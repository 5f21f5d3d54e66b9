import {
  GEMMA_QUOTE,
  type MemberForm,
  piecesOf,
  type ToolCallSyntax,
  typesOf,
} from "../tools/index.js";
import {
  between,
  characters,
  choice,
  EMPTY,
  freeText,
  marker,
  optional,
  reference,
  repeat,
  type Rule,
  sequence,
  text,
} from "./rules.js";
import { NUMBER } from "./json.js";
import { membersInOrder } from "./schema-types.js";
import { isSchema, resolveParts, type Schema, type SchemaReader } from "./schema-parts.js";

/**
 * The arguments of a call, in the form of its syntax. Strings that are written as they are and values of
 * Gemma's are held to their types and enums; JSON to all that its schema says.
 */
export function argumentsRule(reader: SchemaReader, schema: unknown, syntax: ToolCallSyntax): Rule {
  const { arguments: form } = syntax;
  if (typeof form === "string") return reader.read(schema, "#");
  return new MemberRules(reader, form).members(schema, "#");
}

/** A text with the markers within it. */
export function markedText({ inner }: Pick<ToolCallSyntax, "inner">, value: string): Rule {
  const at = inner.map((one) => value.indexOf(one));
  const first = Math.min(...at.filter((index) => index >= 0));
  const found = inner[at.indexOf(first)];
  if (found === undefined) return text(value);
  const rest = value.slice(first + found.length);
  return sequence(text(value.slice(0, first)), marker(found), markedText({ inner }, rest));
}

/** A name that no schema says. */
const ANY_KEY = repeat(
  characters(between("a", "z"), between("A", "Z"), between("0", "9"), between("_", "_")),
  1,
  64,
);
const JSON_VALUE = reference("value");

class MemberRules {
  readonly #reader: SchemaReader;
  readonly #form: MemberForm;

  constructor(reader: SchemaReader, form: MemberForm) {
    this.#reader = reader;
    this.#form = form;
  }

  /** In the order of `properties`, those that are not required perhaps. */
  members(schema: unknown, path: string): Rule {
    const resolved = this.#resolve(schema, path);
    const { properties, required, additionalProperties } = resolved;
    const known = isSchema(properties) ? Object.entries(properties) : [];
    const needed = new Set(Array.isArray(required) ? required : []);
    if (known.length > 0) {
      const members = known.map(([key, own]) => {
        const value = this.#value(own, `${path}/properties/${key.slice(0, 64)}`);
        return { rule: this.#member(text(key), value), isRequired: needed.has(key) };
      });
      const separator = (isFirst: boolean) => (isFirst ? EMPTY : text(this.#form.between));
      return membersInOrder(this.#reader, members, { separator });
    }
    if (additionalProperties === false) return EMPTY;
    const any = this.#member(ANY_KEY, this.#anyValue());
    return optional(sequence(any, repeat(sequence(text(this.#form.between), any), 0)));
  }

  #resolve(schema: unknown, path: string): Schema {
    this.#reader.spend(1, path);
    return isSchema(schema) ? resolveParts(this.#reader, schema, path) : {};
  }

  #member(key: Rule, value: Rule): Rule {
    const places: Readonly<Record<string, Rule>> = { key, value };
    const pieces = piecesOf(this.#form.member).map((piece) => places[piece] ?? text(piece));
    return sequence(...pieces);
  }

  #value(schema: unknown, path: string): Rule {
    const { values } = this.#form;
    if (values === "gemma") return this.#gemmaValue(schema, path);
    const types = typesOf(this.#resolve(schema, path));
    if (values === "raw" && types.has("string")) return this.#string(schema, path);
    if (values === "python" && types.size === 1 && types.has("boolean"))
      return choice(text("True"), text("False"));
    return this.#reader.read(schema, path);
  }

  #anyValue(): Rule {
    const { values } = this.#form;
    if (values === "raw") return this.#freeValue();
    return values === "gemma" ? this.#anyGemmaValue() : JSON_VALUE;
  }

  /** A string between what the member has around it. */
  #string(schema: unknown, path: string): Rule {
    const { enum: values, const: only } = this.#resolve(schema, path);
    const known: unknown = only === undefined ? values : [only];
    const isKnown = Array.isArray(known) && known.every((value) => typeof value === "string");
    return isKnown ? choice(...known.map(text)) : this.#freeValue();
  }

  #freeValue(): Rule {
    if (this.#form.values === "gemma") return freeText(GEMMA_QUOTE);
    const [end = ""] = piecesOf(this.#form.member).slice(-1);
    return freeText(end.trimEnd());
  }

  #gemmaValue(schema: unknown, path: string): Rule {
    const resolved = this.#resolve(schema, path);
    const types = [...typesOf(resolved)];
    if (types.length === 0) return this.#anyGemmaValue();
    return choice(...types.map((type) => this.#gemmaType({ ...resolved, type }, path)));
  }

  #gemmaType(schema: Schema, path: string): Rule {
    const { type, items } = schema;
    if (type === "string") return quoted(this.#string(schema, path));
    if (type === "object") return sequence(text("{"), this.members(schema, path), text("}"));
    if (type !== "array") return this.#reader.read(schema, path);
    const item = this.#gemmaValue(items, `${path}/items`);
    return sequence(text("["), commas(item), text("]"));
  }

  /** Any value, in a rule that holds itself. */
  #anyGemmaValue(): Rule {
    const { rules } = this.#reader;
    const value = reference("gemma");
    const members = commas(sequence(ANY_KEY, text(":"), value));
    const words = ["true", "false", "null"].map(text);
    const object = sequence(text("{"), members, text("}"));
    const array = sequence(text("["), commas(value), text("]"));
    rules.set("gemma", choice(quoted(this.#freeValue()), NUMBER, object, array, ...words));
    return value;
  }
}

function quoted(rule: Rule): Rule {
  return sequence(marker(GEMMA_QUOTE), rule, marker(GEMMA_QUOTE));
}

function commas(item: Rule): Rule {
  return optional(sequence(item, repeat(sequence(text(","), item), 0)));
}
