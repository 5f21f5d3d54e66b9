import type { CallableFunction, ToolCallSpec } from "../request/request.js";
import { syntaxOf, type ToolCallSyntax } from "../tools/index.js";
import {
  choice,
  EMPTY,
  type Grammar,
  optional,
  repeat,
  type Rule,
  sequence,
  specialToken,
  text,
} from "./rules.js";
import { createSchemaReader, type Spent } from "./schema.js";

const MAX_CALLS = 16;

/** Calls of these functions in the model's own writing, arguments as each schema says. */
export function grammarOfCalls(spec: ToolCallSpec, param: string): Grammar {
  const syntax = syntaxOf(spec.format);
  const rules = new Map<string, Rule>();
  const spent = { parts: 0 };
  const calls = spec.functions.map((callable) =>
    callRule(callable, { syntax, rules, param, spent }),
  );
  const call = choice(...calls);
  const most = spec.parallel ? MAX_CALLS : 1;
  return { root: sequence(optional(text(" ")), answerRule(syntax, call, most)), rules };
}

/** One call without its markers. */
function callRule(
  { name, parameters }: CallableFunction,
  context: {
    readonly syntax: ToolCallSyntax;
    readonly rules: Map<string, Rule>;
    readonly param: string;
    readonly spent: Spent;
  },
): Rule {
  const reader = createSchemaReader(parameters, context.param, context.spent);
  const own = reader.read(asObject(parameters), "#");
  const prefix = `${name}:`;
  for (const [key, rule] of reader.rules) context.rules.set(prefix + key, rename(rule, prefix));
  const args = rename(own, prefix);
  const { nameEnd, argumentsKey } = context.syntax;
  if (nameEnd !== null) return sequence(text(name), marker(nameEnd, true), args);
  return sequence(text(`{"name": ${JSON.stringify(name)}, "${argumentsKey}": `), args, text("}"));
}

/** Arguments are an object, whatever else a schema leaves open. */
function asObject(parameters: unknown): unknown {
  if (typeof parameters !== "object" || parameters === null) return { type: "object" };
  const isOpen = !["type", "$ref", "anyOf", "oneOf", "allOf"].some((key) => key in parameters);
  return isOpen ? { ...parameters, type: "object" } : parameters;
}

function rename(rule: Rule, prefix: string): Rule {
  if (rule.type === "reference") return { type: "reference", name: prefix + rule.name };
  if (rule.type === "repeat") return { ...rule, rule: rename(rule.rule, prefix) };
  if (rule.type !== "sequence" && rule.type !== "choice") return rule;
  return { ...rule, rules: rule.rules.map((part) => rename(part, prefix)) };
}

function answerRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  const [begin = ""] = syntax.begins;
  const open = marker(begin, syntax.special);
  const close = syntax.end === null ? EMPTY : marker(syntax.end, syntax.special);
  if (syntax.list) {
    const more = repeat(sequence(text(", "), call), 0, most - 1);
    return sequence(open, text("["), call, more, text("]"), close);
  }
  if (syntax.bareObject) return call;
  const one =
    syntax.end === null
      ? sequence(open, call)
      : sequence(open, text("\n"), call, text("\n"), close);
  const between = syntax.end === null ? EMPTY : text("\n");
  return sequence(one, repeat(sequence(between, one), 0, most - 1));
}

/** A marker as its special token, or as text for a model that has no such token. */
function marker(value: string, isSpecial: boolean): Rule {
  return isSpecial ? choice(specialToken(value), text(value)) : text(value);
}
