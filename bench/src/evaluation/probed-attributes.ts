import { mean, rounded } from "./text-cases.js";

/** Values of each attribute, in the order of a probe's logits. */
export type Attributes = Readonly<Record<string, readonly string[]>>;

/** One case beside what a probe found in what was made of it. */
export interface Found {
  /** Attribute to value, as far as the prompt states it. */
  readonly stated: Readonly<Record<string, string>>;
  /** Attributes whose word no training ever held. */
  readonly unheard: readonly string[];
  /** What the probe found. */
  readonly found: Readonly<Record<string, string>>;
}

/** The likeliest value of each attribute. */
export function readLogits(logits: Float32Array, known: Attributes): Record<string, string> {
  const found: Record<string, string> = {};
  let start = 0;
  for (const [name, values] of Object.entries(known)) {
    const scores = logits.subarray(start, start + values.length);
    found[name] = values[scores.indexOf(Math.max(...scores))] ?? "";
    start += values.length;
  }
  return found;
}

/** Of the cases that state an attribute, those in which it is found. */
export function shareFound(seen: readonly Found[], name: string): number {
  const told = seen.filter(({ stated }) => stated[name] !== undefined);
  return rounded(mean(told.map(({ stated, found }) => (stated[name] === found[name] ? 1 : 0))));
}

/** Of the words that no training ever held, those whose attribute is found. */
export function shareUnheard(seen: readonly Found[]): number {
  const hits = seen.flatMap(({ unheard, stated, found }) =>
    unheard.map((name) => (stated[name] === found[name] ? 1 : 0)),
  );
  return rounded(mean(hits));
}
