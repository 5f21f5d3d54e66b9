import { JobError } from "../../core/errors.js";

/** Bins of a histogram over how far a logit lies below the greatest, in nats of temperature. */
export const BINS_PER_NAT = 64;
/** Tokens further down than this share less than 2e-9 of any vocabulary and are never drawn. */
export const DEPTH_NATS = 32;
export const BINS = BINS_PER_NAT * DEPTH_NATS;

/** exp(-bin / 64). */
const binFactors = Float64Array.from({ length: BINS }, (_, bin) => Math.exp(-bin / BINS_PER_NAT));

/** exp(-depth / 64) to 2.5e-9 of itself, for a depth in bins below `BINS`: a table and three terms. */
export function expOfDepth(depth: number): number {
  const rest = (depth - (depth | 0)) * (1 / BINS_PER_NAT);
  return (binFactors[depth | 0] ?? 0) * (1 - rest * (1 - rest * (0.5 - rest * (1 / 6))));
}

/**
 * Adds exp(−depth / 64) of each logit to the bin that it lies in, `(max − logit) × scale` deep; returns
 * the sum. The one pass over a vocabulary that costs, hence with everything at hand.
 */
export function weighIntoBins(
  logits: Float32Array,
  { max, scale }: { readonly max: number; readonly scale: number },
  bins: Float64Array,
): number {
  const factors = binFactors;
  const limit = factors.length;
  const top = max * scale;
  bins.fill(0);
  for (let id = 0; id < logits.length; id += 1) {
    const depth = top - (logits[id] ?? 0) * scale;
    if (depth >= limit) continue;
    const bin = depth | 0;
    const rest = (depth - bin) * (1 / 64);
    const weight = (factors[bin] ?? 0) * (1 - rest * (1 - rest * (0.5 - rest * (1 / 6))));
    bins[bin] = (bins[bin] ?? 0) + weight;
  }
  return bins.reduce((sum, mass) => sum + mass, 0);
}

/** The id of the greatest logit, the lowest of equals. Throws `invalid_output` on NaN or no finite one. */
export function argmax(logits: Float32Array): number {
  let best = 0;
  let max = -Infinity;
  for (let id = 0; id < logits.length; id += 1) {
    const value = logits[id] ?? 0;
    if (value <= max) continue;
    if (Number.isNaN(value)) throw notANumber(id);
    max = value;
    best = id;
  }
  if (Number.isFinite(max)) return best;
  throw noneFinite(max);
}

/** Logits that are looked at together. */
export const BLOCK = 256;

/**
 * Fills in the greatest logit of each block and returns the greatest of all. Throws `invalid_output` on
 * NaN or no finite one.
 */
export function blockMaxima(logits: Float32Array, maxima: Float32Array): number {
  let max = -Infinity;
  for (let block = 0, first = 0; first < logits.length; block += 1, first += BLOCK) {
    const end = Math.min(first + BLOCK, logits.length);
    let greatest = -Infinity;
    for (let id = first; id < end; id += 1) {
      const value = logits[id] ?? 0;
      if (value <= greatest) continue;
      if (Number.isNaN(value)) throw notANumber(id);
      greatest = value;
    }
    maxima[block] = greatest;
    if (greatest > max) max = greatest;
  }
  if (Number.isFinite(max)) return max;
  throw noneFinite(max);
}

function notANumber(id: number): JobError {
  return new JobError("invalid_output", `the logit of token ${id} is not a number`);
}

function noneFinite(greatest: number): JobError {
  return new JobError("invalid_output", `no logit is finite: the greatest is ${greatest}`);
}

/**
 * Finds the largest logits with a heap whose root is the least of those found so far, the highest id of
 * equals. Memory is reused.
 */
export class LargestLogits {
  readonly #ids: Int32Array;
  readonly #values: Float32Array;

  /** `capacity`: most that are ever asked for. */
  constructor(capacity: number) {
    this.#ids = new Int32Array(capacity);
    this.#values = new Float32Array(capacity);
  }

  /**
   * Ids of the `count` largest, the lowest ids of equals, in no order; valid until the next call. Throws
   * `invalid_output` as `argmax` does.
   */
  select(logits: Float32Array, count: number): Int32Array {
    const size = Math.min(count, logits.length, this.#ids.length);
    for (let id = 0; id < size; id += 1) this.#set(id, id, finiteOrLow(logits, id));
    for (let at = (size >>> 1) - 1; at >= 0; at -= 1) this.#sink(at, size);
    let least = this.#values[0] ?? -Infinity;
    for (let id = size; id < logits.length; id += 1) {
      const value = logits[id] ?? 0;
      if (value <= least) continue;
      this.#set(0, id, finiteOrLow(logits, id));
      this.#sink(0, size);
      least = this.#values[0] ?? -Infinity;
    }
    if (!this.#values.subarray(0, size).some(Number.isFinite)) throw noneFinite(-Infinity);
    return this.#ids.subarray(0, size);
  }

  #set(at: number, id: number, value: number): void {
    this.#ids[at] = id;
    this.#values[at] = value;
  }

  #sink(from: number, size: number): void {
    const id = this.#ids[from] ?? 0;
    const value = this.#values[from] ?? 0;
    let at = from;
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (
        child + 1 < size &&
        this.#isBefore(child + 1, this.#ids[child] ?? 0, this.#values[child] ?? 0)
      )
        child += 1;
      if (!this.#isBefore(child, id, value)) break;
      this.#set(at, this.#ids[child] ?? 0, this.#values[child] ?? 0);
      at = child;
    }
    this.#set(at, id, value);
  }

  /** Whether what stands at a place leaves the heap before this. */
  #isBefore(at: number, id: number, value: number): boolean {
    const other = this.#values[at] ?? 0;
    return other === value ? (this.#ids[at] ?? 0) > id : other < value;
  }
}

function finiteOrLow(logits: Float32Array, id: number): number {
  const value = logits[id] ?? 0;
  if (value < Infinity) return value;
  throw Number.isNaN(value) ? notANumber(id) : noneFinite(value);
}
