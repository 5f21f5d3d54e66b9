import {
  type CharacterRange,
  type FreeText,
  type Grammar,
  type Rule,
  utf8Ranges,
} from "./rules.js";

interface ByteEdge {
  readonly low: number;
  readonly high: number;
  readonly to: number;
}

interface Call {
  /** First node of the rule that is called. */
  readonly start: number;
  /** Node to go on from when the rule has ended. */
  readonly back: number;
}

interface Node {
  readonly bytes: ByteEdge[];
  readonly empties: number[];
  readonly calls: Call[];
  /** The rule may end here. */
  isEnd: boolean;
  /** A node that goes on alike for the next `HORIZON` bytes: itself, or another place of a long count. */
  alike: number;
}

/** A recursive transition network over bytes: one part a rule, joined by calls. */
export interface Network {
  readonly start: number;
  readonly nodes: readonly Node[];
}

const MAX_NODES = 100_000;

/** As far as places of a count are told apart, in bytes: no more than few tokens are longer. */
export const HORIZON = 32;

/** Throws where the grammar is too large or a rule begins with itself. */
export function buildNetwork(grammar: Grammar): Network {
  const build: Build = { rules: grammar.rules, nodes: [], starts: new Map(), todo: [] };
  const start = addNode(build);
  build.todo.push([grammar.root, start]);
  for (let next = build.todo.pop(); next !== undefined; next = build.todo.pop()) {
    const [rule, from] = next;
    nodeAt(build, addRule(build, rule, from)).isEnd = true;
  }
  checkRecursion(build.nodes);
  return { start, nodes: build.nodes };
}

interface Build {
  readonly rules: ReadonlyMap<string, Rule>;
  readonly nodes: Node[];
  /** First nodes of the rules with names. */
  readonly starts: Map<string, number>;
  /** Rules that are called, with their first nodes. */
  readonly todo: [Rule, number][];
}

function addNode({ nodes }: Build): number {
  if (nodes.length >= MAX_NODES)
    throw new Error(`the grammar is too large: it has more than ${MAX_NODES} places`);
  const alike = nodes.length;
  return nodes.push({ bytes: [], empties: [], calls: [], isEnd: false, alike }) - 1;
}

function nodeAt({ nodes }: Build, index: number): Node {
  const node = nodes[index];
  if (node === undefined) throw new Error(`the grammar has no place ${index}`);
  return node;
}

/** Puts a rule behind a node; returns the node that it ends in. */
function addRule(build: Build, rule: Rule, from: number): number {
  if (rule.type === "sequence")
    return rule.rules.reduce((at, part) => addRule(build, part, at), from);
  if (rule.type === "reference") return addCall(build, from, startOf(build, rule.name));
  if (rule.type === "repeat") return addRepeat(build, rule, from);
  if (rule.type === "bytes") {
    const bytes = Array.from(rule.bytes, (byte): CharacterRange => [byte, byte]);
    return bytes.length === 0 ? from : addBytes(build, bytes, { from, to: addNode(build) });
  }
  const to = addNode(build);
  if (rule.type === "free") return addFree(build, rule, { from, to });
  if (rule.type === "characters")
    for (const bytes of rule.ranges.flatMap(utf8Ranges)) addBytes(build, bytes, { from, to });
  else for (const option of rule.rules) addOption(build, option, { from, to });
  return to;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function addBytes(build: Build, bytes: readonly CharacterRange[], { from, to }: Span): number {
  let at = from;
  for (const [index, [low, high]] of bytes.entries()) {
    const next = index === bytes.length - 1 ? to : addNode(build);
    nodeAt(build, at).bytes.push({ low, high, to: next });
    at = next;
  }
  return to;
}

const BLANKS = " \t\n\v\f\r";

/** A node for each beginning of a marker that a text may end in (Aho and Corasick); none leads to a whole one. */
function addFree(build: Build, { markers, notFirst }: FreeText, { from, to }: Span): number {
  const texts = markers.map((marker) => Buffer.from(marker).toString("latin1"));
  const endings = new Map<string, number>([["", addNode(build)]]);
  for (const text of texts)
    for (let length = 1; length < text.length; length += 1)
      if (!endings.has(text.slice(0, length))) endings.set(text.slice(0, length), addNode(build));
  const next = (read: string): number | undefined => {
    if (texts.some((text) => read.endsWith(text))) return undefined;
    for (let start = 0; ; start += 1) {
      const node = endings.get(read.slice(start));
      if (node !== undefined) return node;
    }
  };
  const addEdges = (node: number, nextOf: (byte: string) => number | undefined): void => {
    nodeAt(build, node).empties.push(to);
    const { bytes } = nodeAt(build, node);
    for (let byte = 0; byte < 256; byte += 1) {
      const target = nextOf(String.fromCharCode(byte));
      const last = bytes.at(-1);
      if (target === undefined) continue;
      if (last?.to === target && last.high === byte - 1)
        bytes[bytes.length - 1] = { ...last, high: byte };
      else bytes.push({ low: byte, high: byte, to: target });
    }
  };
  for (const [ending, node] of endings) addEdges(node, (byte) => next(ending + byte));
  const first = addNode(build);
  nodeAt(build, from).empties.push(first);
  addEdges(first, (byte) => {
    if (notFirst !== null && BLANKS.includes(byte)) return first;
    return byte === notFirst ? undefined : next(byte);
  });
  return to;
}

function addOption(build: Build, option: Rule, { from, to }: Span): void {
  const begin = addNode(build);
  nodeAt(build, from).empties.push(begin);
  nodeAt(build, addRule(build, option, begin)).empties.push(to);
}

function addCall(build: Build, from: number, start: number): number {
  const back = addNode(build);
  nodeAt(build, from).calls.push({ start, back });
  return back;
}

function startOf(build: Build, name: string): number {
  const known = build.starts.get(name);
  if (known !== undefined) return known;
  const rule = build.rules.get(name);
  if (rule === undefined) throw new Error(`the grammar has no rule ${name}`);
  const start = addNode(build);
  build.starts.set(name, start);
  build.todo.push([rule, start]);
  return start;
}

/** The rule stands once and is called as often as it may come. */
function addRepeat(
  build: Build,
  { rule, minimum, maximum }: Extract<Rule, { type: "repeat" }>,
  from: number,
): number {
  const start = addNode(build);
  build.todo.push([rule, start]);
  const exit = addNode(build);
  let at = addNode(build);
  nodeAt(build, from).empties.push(at);
  const first = at;
  for (let count = 0; count < minimum; count += 1) {
    if (minimum - count > HORIZON) nodeAt(build, at).alike = first;
    at = addCall(build, at, start);
  }
  const firstOptional = at;
  if (maximum === null) nodeAt(build, addCall(build, at, start)).empties.push(at);
  for (let count = minimum; count < (maximum ?? 0); count += 1) {
    nodeAt(build, at).empties.push(exit);
    if ((maximum ?? 0) - count > HORIZON) nodeAt(build, at).alike = firstOptional;
    at = addCall(build, at, start);
  }
  nodeAt(build, at).empties.push(exit);
  return exit;
}

/** A rule that calls itself before it has read a byte would never end. */
function checkRecursion(nodes: readonly Node[]): void {
  const firstCalls = findFirstCalls(nodes);
  const done = new Set<number>();
  const open = new Set<number>();
  const visit = (start: number): void => {
    if (done.has(start)) return;
    if (open.has(start)) throw new Error("a rule of the grammar begins with itself");
    open.add(start);
    for (const callee of firstCalls.get(start) ?? []) visit(callee);
    open.delete(start);
    done.add(start);
  };
  for (const start of firstCalls.keys()) visit(start);
}

/** A place that is reached from the start of a rule without a byte. */
type Reached = readonly [start: number, place: number];

/**
 * Rules by their starts, each with those that it may call before it has read a byte. Each place of a rule
 * is looked at once: what stands behind a call waits until the called rule is known to admit nothing.
 */
function findFirstCalls(nodes: readonly Node[]): Map<number, Set<number>> {
  const firstCalls = new Map<number, Set<number>>();
  const seen = new Map<number, Set<number>>();
  const mayBeEmpty = new Set<number>();
  const waiting = new Map<number, Reached[]>();
  const todo: Reached[] = [];
  const add = (start: number, place: number): void => {
    const places = seen.get(start) ?? new Set();
    seen.set(start, places);
    if (places.has(place)) return;
    places.add(place);
    todo.push([start, place]);
  };
  const addCalls = (start: number, calls: readonly Call[]): void => {
    for (const { start: callee, back } of calls) {
      firstCalls.get(start)?.add(callee);
      if (mayBeEmpty.has(callee)) add(start, back);
      else addTo(waiting, callee, [start, back]);
    }
  };
  for (const { calls } of nodes)
    for (const { start } of calls)
      if (!firstCalls.has(start)) {
        firstCalls.set(start, new Set());
        add(start, start);
      }
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [start, place] = next;
    const node = nodes[place];
    if (node === undefined) continue;
    for (const to of node.empties) add(start, to);
    addCalls(start, node.calls);
    if (!node.isEnd || mayBeEmpty.has(start)) continue;
    mayBeEmpty.add(start);
    for (const [caller, back] of waiting.get(start) ?? []) add(caller, back);
    waiting.delete(start);
  }
  return firstCalls;
}

function addTo<Value>(lists: Map<number, Value[]>, key: number, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
