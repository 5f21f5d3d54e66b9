export interface StopResult {
  /** Text that certainly belongs to the answer. */
  readonly text: string;
  /** The stop text that ended it, once one is complete. */
  readonly stopText?: string;
}

/** Cuts an answer before the first stop text; what may be the beginning of one waits. */
export class StopMatcher {
  readonly #stops: readonly string[];
  #pending = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  push(text: string): StopResult {
    if (this.#stops.length === 0) return { text };
    const whole = this.#pending + text;
    const found = firstComplete(whole, this.#stops);
    if (found !== undefined) {
      this.#pending = "";
      return { text: whole.slice(0, found.start), stopText: found.stop };
    }
    const sure = whole.length - longestBeginning(whole, this.#stops);
    this.#pending = whole.slice(sure);
    return { text: whole.slice(0, sure) };
  }

  /** What still waits, at the end of the answer. */
  flush(): string {
    const rest = this.#pending;
    this.#pending = "";
    return rest;
  }
}

/** The stop that is complete earliest, so that how the text was cut into tokens does not matter. */
function firstComplete(text: string, stops: readonly string[]) {
  let first: { readonly start: number; readonly stop: string } | undefined;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    if (start < 0) continue;
    const end = start + stop.length;
    const earlier = first === undefined ? Infinity : first.start + first.stop.length;
    if (end < earlier || (end === earlier && start < (first?.start ?? 0))) first = { start, stop };
  }
  return first;
}

/** Length of the longest end of the text that is the beginning of a stop. */
function longestBeginning(text: string, stops: readonly string[]): number {
  const longest = Math.max(...stops.map(({ length }) => length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return length;
  }
  return 0;
}
