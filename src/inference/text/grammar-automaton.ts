import type { Network } from "./grammar-network.js";

/** No text goes on this way. */
export const DEAD = -1;
/** Not walked so far. */
export const UNKNOWN = -2;
/** Places and stacks are numbers below this; a pair of them is one exact number. */
const RADIX = 2 ** 24;

/**
 * The network made deterministic as it is walked: a state is the set of places where a text may stand,
 * each with the calls it must return to.
 */
export interface Automaton {
  readonly start: number;
  readonly stateCount: number;
  /** States after each class of bytes [stateCount, classCount], `DEAD` or `UNKNOWN`; replaced as it grows. */
  readonly table: Int32Array;
  /** Class of each byte: bytes that the grammar never tells apart share one. */
  readonly classOf: Uint8Array;
  readonly classCount: number;
  /** The state after one more byte, or `DEAD`. */
  step(state: number, byte: number): number;
  /** A state that goes on alike for the next `HORIZON` bytes; many states have one in common. */
  alike(state: number): number;
  /** Whether the text may end here. */
  accepts(state: number): boolean;
  /** Whether nothing may follow. */
  isFinal(state: number): boolean;
}

interface State {
  /** Pairs of a node that reads bytes and a stack, ascending. */
  readonly places: readonly number[];
  readonly accepts: boolean;
}

export function createAutomaton(network: Network): Automaton {
  const classes = byteClasses(network);
  const stacks = createStacks();
  const isTail = network.nodes.map((_, index) => isTailNode(network, index));
  const states: State[] = [];
  const known = new Map<string, number>();
  let table = new Int32Array(1_024 * classes.count).fill(UNKNOWN);

  const intern = (state: State): number => {
    if (state.places.length === 0 && !state.accepts) return DEAD;
    const key = `${state.accepts}${state.places.join()}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const id = states.push(state) - 1;
    known.set(key, id);
    if (states.length * classes.count > table.length) table = grow(table);
    return id;
  };
  const close = (seeds: readonly number[]): number =>
    intern(closure(network, { seeds, stacks, isTail }));
  const follow = (state: number, byte: number): number => {
    const seeds: number[] = [];
    for (const place of states[state]?.places ?? []) {
      const stack = place % RADIX;
      for (const edge of network.nodes[(place - stack) / RADIX]?.bytes ?? [])
        if (edge.low <= byte && byte <= edge.high) seeds.push(edge.to * RADIX + stack);
    }
    return close(seeds);
  };
  const start = close([network.start * RADIX + stacks.empty]);
  return {
    start,
    classOf: classes.of,
    classCount: classes.count,
    get table() {
      return table;
    },
    get stateCount() {
      return states.length;
    },
    step(state, byte) {
      const at = state * classes.count + (classes.of[byte] ?? 0);
      const next = table[at] ?? UNKNOWN;
      if (next !== UNKNOWN) return next;
      const found = follow(state, byte);
      table[at] = found;
      return found;
    },
    alike(state) {
      const { places = [], accepts = false } = states[state] ?? {};
      const mapped = new Set(places.map((place) => alikePlace(network, stacks, place)));
      return intern({ places: [...mapped].toSorted((left, right) => left - right), accepts });
    },
    accepts: (state) => states[state]?.accepts ?? false,
    isFinal: (state) => states[state]?.places.length === 0,
  };
}

interface Stacks {
  readonly empty: number;
  push(back: number, parent: number): number;
  back(stack: number): number;
  parent(stack: number): number;
}

/** Stacks of returns, each stored once. */
function createStacks(): Stacks {
  const backs = [-1];
  const parents = [0];
  const known = new Map<number, number>();
  return {
    empty: 0,
    push(back, parent) {
      const key = back * RADIX + parent;
      const found = known.get(key);
      if (found !== undefined) return found;
      if (backs.length >= RADIX) throw new Error("the text nests too deeply for its grammar");
      parents.push(parent);
      const stack = backs.push(back) - 1;
      known.set(key, stack);
      return stack;
    },
    back: (stack) => backs[stack] ?? -1,
    parent: (stack) => parents[stack] ?? 0,
  };
}

/** All that is reached from the seeds without a byte. */
function closure(
  { nodes }: Network,
  options: {
    readonly seeds: readonly number[];
    readonly stacks: Stacks;
    readonly isTail: readonly boolean[];
  },
): State {
  const { stacks, isTail } = options;
  const seen = new Set(options.seeds);
  const places: number[] = [];
  let accepts = false;
  for (const place of seen) {
    const stack = place % RADIX;
    const node = nodes[(place - stack) / RADIX];
    if (node === undefined) continue;
    if (node.bytes.length > 0) places.push(place);
    for (const to of node.empties) seen.add(to * RADIX + stack);
    for (const { start, back } of node.calls)
      seen.add(start * RADIX + (isTail[back] ? stack : stacks.push(back, stack)));
    if (!node.isEnd) continue;
    if (stack === stacks.empty) accepts = true;
    else seen.add(stacks.back(stack) * RADIX + stacks.parent(stack));
  }
  return { places: places.toSorted((left, right) => left - right), accepts };
}

function alikePlace({ nodes }: Network, stacks: Stacks, place: number): number {
  const alikeStack = (stack: number): number => {
    if (stack === stacks.empty) return stack;
    const back = stacks.back(stack);
    return stacks.push(nodes[back]?.alike ?? back, alikeStack(stacks.parent(stack)));
  };
  const stack = place % RADIX;
  return place - stack + alikeStack(stack);
}

/** Whether a return to this node is at once a return from its rule: then no stack is needed for it. */
function isTailNode({ nodes }: Network, index: number): boolean {
  const seen = new Set<number>();
  let at = nodes[index];
  for (let next: number | undefined = index; at !== undefined && next !== undefined;) {
    if (seen.has(next) || at.bytes.length > 0 || at.calls.length > 0) return false;
    seen.add(next);
    if (at.isEnd) return at.empties.length === 0;
    if (at.empties.length !== 1) return false;
    next = at.empties[0];
    at = next === undefined ? undefined : nodes[next];
  }
  return false;
}

/** Bytes that no edge tells apart are one class: the table has a column for each. */
function byteClasses({ nodes }: Network): { readonly of: Uint8Array; readonly count: number } {
  const begins = new Uint8Array(257);
  for (const { bytes } of nodes) {
    for (const { low, high } of bytes) {
      begins[low] = 1;
      begins[high + 1] = 1;
    }
  }
  const of = new Uint8Array(256);
  let current = 0;
  for (let byte = 1; byte < 256; byte += 1) {
    current += begins[byte] ?? 0;
    of[byte] = current;
  }
  return { of, count: current + 1 };
}

function grow(table: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(table.length * 2).fill(UNKNOWN);
  larger.set(table);
  return larger;
}
