import { type CharacterRange, type Grammar, type Rule, utf8Ranges } from "./grammar-rules.js";

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

/** Throws a sentence where the grammar is too large or a rule begins with itself. */
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
  const starts = new Set(nodes.flatMap(({ calls }) => calls.map(({ start }) => start)));
  const nullable = findNullable(nodes, starts);
  const firstCalls = new Map<number, Set<number>>();
  for (const start of starts) {
    const reached = new Set<number>();
    reach({ nodes, nullable, start, onCall: (callee) => reached.add(callee) });
    firstCalls.set(start, reached);
  }
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
  for (const start of starts) visit(start);
}

/** Starts of the rules that may be empty. */
function findNullable(nodes: readonly Node[], starts: ReadonlySet<number>): Set<number> {
  const nullable = new Set<number>();
  for (let before = -1; nullable.size > before;) {
    before = nullable.size;
    for (const start of starts) {
      const ends = !nullable.has(start) && reach({ nodes, nullable, start, onCall: () => {} });
      if (ends) nullable.add(start);
    }
  }
  return nullable;
}

/** Follows all that reads no byte; says whether an end is among it. */
function reach(from: {
  readonly nodes: readonly Node[];
  readonly nullable: ReadonlySet<number>;
  readonly start: number;
  readonly onCall: (start: number) => void;
}): boolean {
  const seen = new Set([from.start]);
  let reachesEnd = false;
  for (const index of seen) {
    const node = from.nodes[index];
    if (node === undefined) continue;
    if (node.isEnd) reachesEnd = true;
    for (const to of node.empties) seen.add(to);
    for (const { start, back } of node.calls) {
      from.onCall(start);
      if (from.nullable.has(start)) seen.add(back);
    }
  }
  return reachesEnd;
}
