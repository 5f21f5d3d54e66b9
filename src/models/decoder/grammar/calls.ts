import { JobError } from "../../../core/errors.js";
import type { CallableFunction, ToolCallSpec } from "../request/request.js";
import { piecesOf, syntaxOf, type ToolCallSyntax } from "../tools/index.js";
import { argumentsRule, markedText } from "./call-arguments.js";
import { jsonRules } from "./json.js";
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
  const rules = jsonRules();
  const spent = { parts: 0 };
  const calls = spec.functions.map((callable) =>
    callRule(callable, { syntax, rules, param, spent }),
  );
  const call = choice(...calls);
  const most = spec.parallel && !syntax.endsAnswer ? MAX_CALLS : 1;
  if (otherwise === "text") return { root: textRule(syntax, call, most), rules };
  const root = sequence(optional(text(" ")), answerRule(syntax, call, most));
  if (otherwise === null) return { root, rules };
  for (const [key, rule] of otherwise.rules)
    if (!isOfJson(key)) rules.set(`:${key}`, rename(rule, ":"));
  return { root: choice(root, rename(otherwise.root, ":")), rules };
}

interface CallContext {
  readonly syntax: ToolCallSyntax;
  readonly rules: Map<string, Rule>;
  readonly param: string;
  readonly spent: Spent;
}

/** One call without its markers; of any arguments where a schema that is not strict cannot be held to. */
function callRule(callable: CallableFunction, context: CallContext): Rule {
  if (callable.isStrict) return heldCallRule(callable, context);
  try {
    return heldCallRule(callable, context);
  } catch (thrown) {
    if (!(thrown instanceof JobError)) throw thrown;
    return heldCallRule({ ...callable, parameters: {} }, context);
  }
}

function heldCallRule({ name, parameters }: CallableFunction, context: CallContext): Rule {
  const { param, spent } = context;
  const reader = createSchemaReader(parameters, { param, spent, isStrict: false });
  const { syntax } = context;
  const own = argumentsRule(reader, asObject(parameters), syntax);
  const prefix = `${name}:`;
  for (const [key, rule] of reader.rules)
    if (!isOfJson(key)) context.rules.set(prefix + key, rename(rule, prefix));
  const places: Readonly<Record<string, Rule>> = {
    name: text(name),
    index: repeat(characters(between("0", "9")), 1, 2),
    arguments: rename(own, prefix),
  };
  const pieces = piecesOf(syntax.call).map((piece) => places[piece] ?? markedText(syntax, piece));
  return sequence(...pieces);
}

/** Arguments are an object, whatever else a schema leaves open. */
function asObject(parameters: unknown): unknown {
  if (typeof parameters !== "object" || parameters === null) return { type: "object" };
  const isOpen = !["type", "$ref", "anyOf", "oneOf", "allOf"].some((key) => key in parameters);
  return isOpen ? { ...parameters, type: "object" } : parameters;
}

const JSON_RULES = jsonRules();

function isOfJson(name: string): boolean {
  return JSON_RULES.has(name);
}

function rename(rule: Rule, prefix: string): Rule {
  if (rule.type === "reference")
    return isOfJson(rule.name) ? rule : { type: "reference", name: prefix + rule.name };
  if (rule.type === "repeat") return { ...rule, rule: rename(rule.rule, prefix) };
  if (rule.type !== "sequence" && rule.type !== "choice") return rule;
  return { ...rule, rules: rule.rules.map((part) => rename(part, prefix)) };
}

function answerRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  if (syntax.bareObject) return call;
  const marked = markedRule(syntax, call, most);
  if (syntax.list !== null) return marked;
  const gap = syntax.end === null ? EMPTY : text("\n");
  return sequence(marked, repeat(sequence(gap, marked), 0, most - 1));
}

/** What follows one marker, a call or a list of them, the markers included. */
function markedRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  const { begins, end, list, inner, endsAnswer } = syntax;
  const [begin = ""] = begins;
  const open = markedText({ inner: [...inner, begin] }, begin);
  const close = end === null || endsAnswer ? EMPTY : marker(end);
  if (list === null) return sequence(open, call, close);
  const more = repeat(sequence(text(list.between), call), 0, most - 1);
  return sequence(open, text(list.open), call, more, text(list.close), close);
}

/** Text that is held to nothing up to a call's marker, and goes on behind a call where more may follow. */
function textRule(syntax: ToolCallSyntax, call: Rule, most: number): Rule {
  const marked = markedRule(syntax, call, most);
  const begins = syntax.begins.map((begin) => Buffer.from(begin));
  const tokens = begins.map((begin) => Buffer.from([SPECIAL_BYTE, ...begin]));
  const free = (notFirst: string | null): Rule => ({
    type: "free",
    markers: [...begins, ...tokens],
    notFirst,
  });
  const more = most === 1 ? optional(marked) : repeat(sequence(marked, free(null)), 0);
  if (!syntax.bareObject) return sequence(free(null), more);
  const blanks = repeat(characters(between(" ", " "), between("\t", "\r")), 0);
  return choice(sequence(blanks, call), sequence(free("{"), more));
}
