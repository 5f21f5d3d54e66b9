import type { Network } from "./network.js";

/** No text goes on this way. */
export const DEAD = -1;
/** Not walked so far. */
export const UNKNOWN = -2;
/** Places and stacks are numbers below this; a pair of them is one exact number. */
const RADIX = 2 ** 24;
/** Places that a text may stand at at once: more are an ambiguity that grows with every byte. */
const MAX_PLACES = 4_000;
/** Of the heap, for a place of a state, with its share of the state's key, and for a stack. */
const BYTES_PER_PLACE = 24;
const BYTES_PER_STACK = 64;

/** A grammar that cannot be followed within its bounds; the sentence says which. */
export class AmbiguousGrammar extends Error {}

/**
 * The network made deterministic as it is walked: a state is the set of places where a text may stand,
 * each with the calls it must return to.
 */
export interface Automaton {
  readonly start: number;
  /** What it holds by now, roughly. */
  readonly byteLength: number;
  /** Calls what walks; throws `AmbiguousGrammar` after so many places. Returns the places that it took. */
  within(places: number, work: () => void): number;
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
  const states = createStates();
  let table = new Int32Array(1_024 * classes.count).fill(UNKNOWN);
  const meter = createMeter();

  const intern = (state: State): number => {
    const id = states.intern(state);
    if ((id + 1) * classes.count > table.length) table = grow(table);
    return id;
  };
  const close = (seeds: readonly number[]): number => {
    const { state, size } = closure(network, { seeds, stacks, isTail });
    meter.add(size);
    return intern(state);
  };
  const follow = (state: number, byte: number): number => {
    const seeds: number[] = [];
    for (const place of states.get(state)?.places ?? []) {
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
    get byteLength() {
      return table.byteLength + states.byteLength() + stacks.byteLength();
    },
    within: meter.within,
    step(state, byte) {
      const at = state * classes.count + (classes.of[byte] ?? 0);
      const next = table[at] ?? UNKNOWN;
      if (next !== UNKNOWN) return next;
      const found = follow(state, byte);
      table[at] = found;
      return found;
    },
    alike(state) {
      const { places = [], accepts = false } = states.get(state) ?? {};
      const mapped = new Set(places.map((place) => alikePlace(network, stacks, place)));
      return intern({ places: [...mapped].toSorted((left, right) => left - right), accepts });
    },
    accepts: (state) => states.get(state)?.accepts ?? false,
    isFinal: (state) => states.get(state)?.places.length === 0,
  };
}

/** States, each stored once. */
function createStates() {
  const states: State[] = [];
  const known = new Map<string, number>();
  let places = 0;
  return {
    get: (id: number) => states[id],
    byteLength: () => places * BYTES_PER_PLACE,
    intern(state: State): number {
      if (state.places.length === 0 && !state.accepts) return DEAD;
      const key = `${state.accepts}${state.places.join()}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      const id = states.push(state) - 1;
      places += state.places.length + 1;
      known.set(key, id);
      return id;
    },
  };
}

/** Counts the places that are walked over, and ends what walks over too many. */
function createMeter() {
  let walked = 0;
  let limit = Infinity;
  const add = (places: number): void => {
    walked += places;
    if (walked > limit)
      throw new AmbiguousGrammar("the schema's texts take too long to tell apart");
  };
  const within = (places: number, work: () => void): number => {
    const before = walked;
    limit = before + places;
    try {
      work();
      return walked - before;
    } finally {
      limit = Infinity;
    }
  };
  return { add, within };
}

interface Stacks {
  readonly empty: number;
  byteLength(): number;
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
    byteLength: () => backs.length * BYTES_PER_STACK,
    push(back, parent) {
      const key = back * RADIX + parent;
      const found = known.get(key);
      if (found !== undefined) return found;
      if (backs.length >= RADIX)
        throw new AmbiguousGrammar("the text nests too deeply for its grammar");
      parents.push(parent);
      const stack = backs.push(back) - 1;
      known.set(key, stack);
      return stack;
    },
    back: (stack) => backs[stack] ?? -1,
    parent: (stack) => parents[stack] ?? 0,
  };
}

/** All that is reached from the seeds without a byte, and how many places that were. */
function closure(
  { nodes }: Network,
  options: {
    readonly seeds: readonly number[];
    readonly stacks: Stacks;
    readonly isTail: readonly boolean[];
  },
): { readonly state: State; readonly size: number } {
  const { stacks, isTail } = options;
  const seen = new Set(options.seeds);
  const places: number[] = [];
  let accepts = false;
  for (const place of seen) {
    if (seen.size > MAX_PLACES)
      throw new AmbiguousGrammar(
        `the text can be read in more than ${MAX_PLACES} ways at once: alternatives of the schema admit the same texts`,
      );
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
  const state = { places: places.toSorted((left, right) => left - right), accepts };
  return { state, size: seen.size };
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
