import { Environment, Interpreter, Template } from "@huggingface/jinja";

/**
 * Parses a chat template. It finds in Jinja what templates rely on and the library refuses or writes
 * otherwise: undefined values are empty lists and texts, keys may be numbers, texts can be multiplied, and
 * values become text as Python writes them.
 */
export function parseTemplate(source: string): Template {
  return new Template(source);
}

export type { Template };

/** A value of a run: `type` tells the library's classes apart. */
interface Value {
  readonly type: string;
  readonly value: unknown;
  toString(): string;
}

/** A node of a parsed template: data that `type` tells apart. */
interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly operand?: Node;
  readonly filter?: Node;
  readonly callee?: Node;
  readonly args?: readonly Node[];
  readonly operator?: { readonly value: string };
  readonly left?: Node;
  readonly right?: Node;
  readonly object?: Node;
  readonly property?: Node;
  readonly computed?: boolean;
  readonly iterable?: Node;
  readonly lhs?: Node;
}

interface Run {
  readonly interpreter: Interpreter;
  readonly environment: Environment;
}

type Evaluate = (this: Interpreter, statement: Node | undefined, environment: Environment) => Value;

// A template makes an interpreter of its own, with globals that are not exported.
const evaluate: Evaluate = Interpreter.prototype.evaluate;
Interpreter.prototype.evaluate = function (
  this: Interpreter,
  node: Node | undefined,
  environment: Environment,
): Value {
  const own = node && OWN[node.type]?.(node, { interpreter: this, environment });
  return own ?? evaluate.call(this, node, environment);
};

const OWN: Readonly<Record<string, (node: Node, run: Run) => Value | undefined>> = {
  For: forEach,
  ObjectLiteral: objectLiteral,
  MemberExpression: member,
  FilterExpression: filter,
  BinaryExpression: binary,
  // Loops unpack lists alone.
  TupleLiteral: (node, run) => valueOf({ ...node, type: "ArrayLiteral" }, run),
};

function valueOf(node: Node | undefined, { interpreter, environment }: Run): Value {
  const own: Evaluate = interpreter.evaluate;
  return own.call(interpreter, node, environment);
}

/** The library's own way with a node, whose parts have these values. */
function evaluateWith(node: Node, parts: Readonly<Record<string, Value>>, run: Run): Value {
  const environment = new Environment(run.environment);
  const names = Object.entries(parts).map(([part, value]) => {
    // No template can write such a name.
    const name = `(${part})`;
    environment.setVariable(name, value);
    return [part, { type: "Identifier", value: name }];
  });
  return evaluate.call(run.interpreter, { ...node, ...Object.fromEntries(names) }, environment);
}

const textValue = (value: string, run: Run) => valueOf({ type: "StringLiteral", value }, run);
const listValue = (run: Run) => valueOf({ type: "ArrayLiteral", value: [] }, run);
const undefinedValue = (run: Run) => valueOf({ type: "Identifier", value: "(undefined)" }, run);

const isUndefined = ({ type }: Value) => type === "UndefinedValue";

/** Nothing is done for each of undefined values. */
function forEach(node: Node, run: Run): Value | undefined {
  const { iterable } = node;
  const source = iterable?.type === "SelectExpression" ? iterable.lhs : iterable;
  if (source?.type !== "Identifier" && source?.type !== "MemberExpression") return undefined;
  if (!isUndefined(valueOf(source, run))) return undefined;
  return evaluateWith(node, { iterable: listValue(run) }, run);
}

/** Objects whose keys were written as numbers. */
const numbered = new WeakSet<object>();

function objectLiteral(node: Node, run: Run): Value | undefined {
  const members: readonly (readonly [Node, Node])[] = entriesOf(node.value);
  if (!members.some(([key]) => key.type === "IntegerLiteral")) return undefined;
  const named = members.map(([key, value]) => {
    const isNumber = key.type === "IntegerLiteral";
    return [isNumber ? { type: "StringLiteral", value: String(key.value) } : key, value] as const;
  });
  const object = evaluate.call(
    run.interpreter,
    { ...node, value: new Map<Node, Node>(named) },
    run.environment,
  );
  numbered.add(object);
  return object;
}

/** A key that is no text is found where it is a number, and else undefined. */
function member(node: Node, run: Run): Value | undefined {
  if (!node.computed || node.property?.type === "SliceExpression") return undefined;
  const object = valueOf(node.object, run);
  const property = valueOf(node.property, run);
  if (object.type !== "ObjectValue" || property.type === "StringValue")
    return evaluateWith(node, { object, property }, run);
  if (!numbered.has(object)) return undefinedValue(run);
  return evaluateWith(node, { object, property: textValue(String(property.value), run) }, run);
}

const OF_LISTS = new Set(["list", "select", "reject", "selectattr", "rejectattr", "map", "join"]);
const OF_TEXTS = new Set(["trim", "upper", "lower", "replace", "capitalize", "title", "string"]);

function filter(node: Node, run: Run): Value {
  const { name, by } = filterOf(node);
  const operand = valueOf(node.operand, run);
  if (operand.type === "UndefinedValue" || operand.type === "NullValue")
    return filterNothing(node, name, { operand, run });
  if (name === "string") return textValue(pythonText(operand), run);
  if (name === "map" && by?.type === "StringLiteral") return mapBy(by, operand, run);
  const found = evaluateWith(node, { operand }, run);
  return KEYED.has(name) && numbered.has(operand) ? withNumbers(found, run) : found;
}

/** A filter's name, and its first argument. */
function filterOf({ filter: own }: Node) {
  return { name: String(own?.value ?? own?.callee?.value), by: own?.args?.[0] };
}

/** Filters that give pairs of keys and values. */
const KEYED = new Set(["dictsort", "items"]);

function filterNothing(
  node: Node,
  name: string,
  { operand, run }: { readonly operand: Value; readonly run: Run },
): Value {
  if (OF_LISTS.has(name)) return evaluateWith(node, { operand: listValue(run) }, run);
  if (name === "string") return textValue(pythonText(operand), run);
  if (!isUndefined(operand)) return evaluateWith(node, { operand }, run);
  if (name === "items") return listValue(run);
  if (name === "length") return evaluateWith(node, { operand: listValue(run) }, run);
  const empty = OF_TEXTS.has(name) ? textValue("", run) : operand;
  return evaluateWith(node, { operand: empty }, run);
}

function mapBy(name: Node, operand: Value, run: Run): Value {
  const list = listValue(run);
  const by = { type: "FilterExpression", filter: { ...name, type: "Identifier" } };
  for (const item of itemsOf(operand)) itemsOf(list).push(evaluateWith(by, { operand: item }, run));
  return list;
}

/** Pairs of keys and values in the order of the keys, which are numbers again. */
function withNumbers(pairs: Value, run: Run): Value {
  for (const pair of itemsOf(pairs)) {
    const [key] = itemsOf(pair);
    if (key === undefined) continue;
    const number = { type: "IntegerLiteral", value: Number(key.value) };
    itemsOf(pair)[0] = valueOf(number, run);
  }
  itemsOf(pairs).sort((one, other) => keyOf(one) - keyOf(other));
  return pairs;
}

function keyOf(pair: Value): number {
  return Number(itemsOf(pair)[0]?.value);
}

function itemsOf({ value }: Value): Value[] {
  return Array.isArray(value) ? value : [];
}

function entriesOf<Key, Item>(value: unknown): [Key, Item][] {
  return value instanceof Map ? [...value] : [];
}

function binary(node: Node, run: Run): Value | undefined {
  const operator = node.operator?.value;
  if (operator !== "~" && operator !== "*") return undefined;
  const [left, right] = [valueOf(node.left, run), valueOf(node.right, run)];
  if (operator === "~") return textValue(pythonText(left) + pythonText(right), run);
  if (left.type !== "StringValue" || right.type !== "IntegerValue")
    return evaluateWith(node, { left, right }, run);
  return textValue(String(left.value).repeat(Math.max(0, Number(right.value))), run);
}

/** As `str` of Python. */
function pythonText(value: Value): string {
  if (isUndefined(value)) return "";
  return value.type === "StringValue" ? String(value.value) : pythonLiteral(value);
}

/** As `repr` of Python. */
function pythonLiteral(value: Value): string {
  switch (value.type) {
    case "StringValue":
      return pythonString(String(value.value));
    case "BooleanValue":
      return value.value ? "True" : "False";
    case "NullValue":
      return "None";
    case "ArrayValue":
      return `[${itemsOf(value).map(pythonLiteral).join(", ")}]`;
    case "ObjectValue": {
      const members: readonly (readonly [string, Value])[] = entriesOf(value.value);
      const written = members.map(([key, own]) => `${pythonString(key)}: ${pythonLiteral(own)}`);
      return `{${written.join(", ")}}`;
    }
    default:
      return value.toString();
  }
}

function pythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll(quote, `\\${quote}`);
  return `${quote}${escaped}${quote}`;
}
