import type { CallableFunction, ToolCallSpec } from "../request/request.js";
import { syntaxOf, type ToolCallSyntax } from "../tools/index.js";
import {
  between,
  characters,
  choice,
  EMPTY,
  type Grammar,
  marker,
  optional,
  repeat,
  type Rule,
  sequence,
  SPECIAL_BYTE,
  text,
} from "./rules.js";
import { createSchemaReader, type Spent } from "./schema.js";

const MAX_CALLS = 16;

/**
 * Calls of these functions in the model's own writing, arguments as each schema says; or an answer
 * `otherwise`, which is calls amid any text where that is `text`.
 */
export function grammarOfCalls(
  spec: ToolCallSpec,
  otherwise: Grammar | "text" | null,
  param: string,
): Grammar {
  const syntax = syntaxOf(spec.format);
  const rules = new Map<string, Rule>();
  const spent = { parts: 0 };
  const calls = spec.functions.map((callable) =>
    callRule(callable, { syntax, rules, param, spent }),
  );
  const call = choice(...calls);
  const most = spec.parallel ? MAX_CALLS : 1;
  if (otherwise === "text") return { root: textRule(syntax, call, most), rules };
  const root = sequence(optional(text(" ")), answerRule(syntax, call, most));
  if (otherwise === null) return { root, rules };
  for (const [key, rule] of otherwise.rules) rules.set(`:${key}`, rename(rule, ":"));
  return { root: choice(root, rename(otherwise.root, ":")), rules };
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
  const { param, spent } = context;
  const reader = createSchemaReader(parameters, { param, spent, isStrict: false });
  const own = reader.read(asObject(parameters), "#");
  const prefix = `${name}:`;
  for (const [key, rule] of reader.rules) context.rules.set(prefix + key, rename(rule, prefix));
  const args = rename(own, prefix);
  const { nameEnd, argumentsKey } = context.syntax;
  if (nameEnd !== null) return sequence(text(name), marker(nameEnd), args);
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
  if (syntax.bareObject) return call;
  const marked = markedRule(syntax, call, most);
  if (syntax.list) return marked;
  const gap = syntax.end === null ? EMPTY : text("\n");
  return sequence(marked, repeat(sequence(gap, marked), 0, most - 1));
}

/** What follows one marker, a call or a list of them, the marker included. */
function markedRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  const [begin = ""] = syntax.begins;
  const open = syntax.special ? marker(begin) : text(begin);
  const close =
    syntax.end === null ? EMPTY : syntax.special ? marker(syntax.end) : text(syntax.end);
  if (syntax.list) {
    const more = repeat(sequence(text(", "), call), 0, most - 1);
    return sequence(open, text("["), call, more, text("]"), close);
  }
  if (syntax.end === null) return sequence(open, call);
  return sequence(open, text("\n"), call, text("\n"), close);
}

/** Text that is held to nothing up to a call's marker, and goes on behind a call where more may follow. */
function textRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  const marked = markedRule(syntax, call, most);
  const begins = syntax.begins.map((begin) => Buffer.from(begin));
  const tokens = begins.map((begin) => Buffer.from([SPECIAL_BYTE, ...begin]));
  const markers = syntax.special ? [...begins, ...tokens] : begins;
  const free = (notFirst: string | null): Rule => ({ type: "free", markers, notFirst });
  const more = most === 1 ? optional(marked) : repeat(sequence(marked, free(null)), 0);
  if (!syntax.bareObject) return sequence(free(null), more);
  const blanks = repeat(characters(between(" ", " "), between("\t", "\r")), 0);
  return choice(sequence(blanks, call), sequence(free("{"), more));
}
