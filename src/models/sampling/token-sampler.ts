import {
  argmax,
  BINS,
  BINS_PER_NAT,
  BLOCK,
  blockMaxima,
  DEPTH_NATS,
  expOfDepth,
  LargestLogits,
  weighIntoBins,
} from "./logits.js";

export interface SamplingSettings {
  /** 0 takes the likeliest token. */
  readonly temperature: number;
  readonly topP: number;
  /** 0 keeps all. */
  readonly topK: number;
  readonly minP: number;
}

/** Below this temperature the likeliest token has all of the probability. */
const COLDEST = 1e-4;

/** A top-k up to this is found with a heap. */
const FEW = 256;

/**
 * Chooses tokens from logits without sorting the vocabulary: top-k, then top-p of what is left, then
 * min-p, as transformers' warpers do in this order. Memory is reused: one sampler a thread.
 */
export class TokenSampler {
  readonly #bins = new Float64Array(BINS);
  readonly #ids: Int32Array;
  readonly #values: Float32Array;
  readonly #weights: Float64Array;
  readonly #maxima: Float32Array;
  readonly #few = new LargestLogits(FEW);

  constructor(vocabSize: number) {
    this.#ids = new Int32Array(vocabSize);
    this.#values = new Float32Array(vocabSize);
    this.#weights = new Float64Array(vocabSize);
    this.#maxima = new Float32Array(Math.ceil(vocabSize / BLOCK));
  }

  /**
   * A token id; −∞ bars a token, and `uniform` in [0, 1) decides. Throws `invalid_output` where a logit
   * is NaN or none is finite.
   */
  choose(logits: Float32Array, settings: SamplingSettings, uniform: number): number {
    const { temperature, topK } = settings;
    if (temperature < COLDEST || topK === 1) return argmax(logits);
    const { count, max } = this.#candidates(logits, settings);
    return this.#draw({ count, max, temperature, uniform });
  }

  /** Ids that `choose` may return, in order of id. */
  support(logits: Float32Array, settings: SamplingSettings): Int32Array {
    if (settings.temperature < COLDEST || settings.topK === 1) return Int32Array.of(argmax(logits));
    return this.#ids.slice(0, this.#candidates(logits, settings).count);
  }

  #candidates(logits: Float32Array, settings: SamplingSettings) {
    const { topK } = settings;
    if (topK > 0 && topK <= FEW && topK < logits.length) return this.#selectFew(logits, settings);
    const max = blockMaxima(logits, this.#maxima);
    return { max, count: this.#select(logits, max, settings) };
  }

  /** For a small top-k one look at each logit is enough: almost all fail one comparison. */
  #selectFew(logits: Float32Array, { temperature, topP, topK, minP }: SamplingSettings) {
    const ids = this.#few.select(logits, topK).toSorted();
    this.#ids.set(ids);
    for (const [index, id] of ids.entries()) this.#values[index] = logits[id] ?? 0;
    const max = this.#values.subarray(0, ids.length).reduce((a, b) => Math.max(a, b), -Infinity);
    const scale = BINS_PER_NAT / temperature;
    let count = this.#keep(ids.length, atLeast(max - temperature * DEPTH_NATS));
    if (topP < 1) count = this.#keep(count, this.#cutOfFew(count, topP, { max, scale }));
    if (minP > 0) count = this.#keep(count, atLeast(max + temperature * Math.log(minP)));
    return { max, count };
  }

  /** Fills the candidates and says how many there are. */
  #select(logits: Float32Array, max: number, settings: SamplingSettings): number {
    const { topP, topK, minP } = settings;
    const scale = BINS_PER_NAT / settings.temperature;
    const isCounted = topK > 0 && topK < logits.length;
    let edge: Edge = { bin: BINS - 1, above: 0, target: Infinity };
    if (isCounted) edge = this.#edge(topK, this.#countBins(logits, max, scale));
    else if (topP < 1) edge = this.#edge(topP, weighIntoBins(logits, { max, scale }, this.#bins));
    let count = this.#gather(logits, { max, scale, depth: edge.bin + 1 });
    if (isCounted) count = this.#keep(count, this.#countCut(count, topK, { max, scale, edge }));
    if (isCounted && topP < 1)
      count = this.#keep(count, this.#cutOfFew(count, topP, { max, scale }));
    if (!isCounted && topP < 1)
      count = this.#keep(count, this.#massCut(count, { max, scale, edge }));
    if (minP <= 0) return count;
    return this.#keep(count, atLeast(max + settings.temperature * Math.log(minP)));
  }

  /** How many logits lie in each bin; the total is 1, so that a target is a count. */
  #countBins(logits: Float32Array, max: number, scale: number): number {
    const bins = this.#bins.fill(0);
    const limit = bins.length;
    const top = max * scale;
    for (let id = 0; id < logits.length; id += 1) {
      const depth = top - (logits[id] ?? 0) * scale;
      if (depth < limit) bins[depth | 0] = (bins[depth | 0] ?? 0) + 1;
    }
    return 1;
  }

  /** The bin in which `share` of the total is reached. */
  #edge(share: number, total: number): Edge {
    const target = share * total;
    let above = 0;
    let bin = 0;
    for (; bin < BINS - 1; bin += 1) {
      const here = this.#bins[bin] ?? 0;
      if (above + here >= target) break;
      above += here;
    }
    return { bin, above, target };
  }

  /** The logit of the `topK`-th likeliest token. */
  #countCut(count: number, topK: number, { max, scale, edge }: Depths & { edge: Edge }): Cut {
    const members = this.#valuesFrom(count, { max, scale, depth: edge.bin });
    const above = count - members.length;
    return cutAt(members, (index) => above + index + 1 >= topK);
  }

  /** The least logit of the smallest set that has the edge's mass. */
  #massCut(count: number, { max, scale, edge }: Depths & { edge: Edge }): Cut {
    const members = this.#valuesFrom(count, { max, scale, depth: edge.bin });
    let mass = edge.above;
    return cutAt(members, (_, value) => {
      mass += Math.exp(((value - max) * scale) / BINS_PER_NAT);
      return mass >= edge.target;
    });
  }

  /** As `#massCut`, among the candidates only. */
  #cutOfFew(count: number, topP: number, { max, scale }: Depths): Cut {
    const members = this.#valuesFrom(count, { max, scale, depth: 0 });
    const weight = (value: number) => Math.exp(((value - max) * scale) / BINS_PER_NAT);
    const target = topP * members.reduce((sum, value) => sum + weight(value), 0);
    let mass = 0;
    return cutAt(members, (_, value) => {
      mass += weight(value);
      return mass >= target;
    });
  }

  /** Candidates: all logits above a depth, in order of id. Blocks without one are passed over. */
  #gather(logits: Float32Array, { max, scale, depth }: Depths & { depth: number }): number {
    const ids = this.#ids;
    const values = this.#values;
    const top = max * scale;
    let count = 0;
    for (let block = 0, first = 0; first < logits.length; block += 1, first += BLOCK) {
      if (top - (this.#maxima[block] ?? 0) * scale >= depth) continue;
      const end = Math.min(first + BLOCK, logits.length);
      for (let id = first; id < end; id += 1) {
        const value = logits[id] ?? 0;
        if (top - value * scale >= depth) continue;
        ids[count] = id;
        values[count] = value;
        count += 1;
      }
    }
    return count;
  }

  /** Logits of candidates from a depth on, greatest first. */
  #valuesFrom(count: number, { max, scale, depth }: Depths & { depth: number }): Float32Array {
    const top = max * scale;
    return this.#values
      .subarray(0, count)
      .filter((value) => top - value * scale >= depth)
      .toSorted()
      .toReversed();
  }

  /** The candidates above the cut and, in order of id, as many just at it as belong to it. */
  #keep(count: number, { least, ties }: Cut): number {
    let kept = 0;
    let left = ties;
    for (let index = 0; index < count; index += 1) {
      const value = this.#values[index] ?? 0;
      if (value < least || (value === least && (left -= 1) < 0)) continue;
      this.#ids[kept] = this.#ids[index] ?? 0;
      this.#values[kept] = value;
      kept += 1;
    }
    return kept;
  }

  #draw(from: { count: number; max: number; temperature: number; uniform: number }): number {
    const { count, max, temperature, uniform } = from;
    const scale = BINS_PER_NAT / temperature;
    const top = max * scale;
    let total = 0;
    for (let index = 0; index < count; index += 1) {
      total += expOfDepth(top - (this.#values[index] ?? 0) * scale);
      this.#weights[index] = total;
    }
    const target = uniform * total;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#weights[middle] ?? 0) > target) high = middle;
      else low = middle + 1;
    }
    return this.#ids[low] ?? 0;
  }
}

/** A logit lies `(max − logit) × scale` bins deep. */
interface Depths {
  readonly max: number;
  readonly scale: number;
}

/** The bin in which a target is reached, and what the bins above it hold. */
interface Edge {
  readonly bin: number;
  readonly above: number;
  readonly target: number;
}

interface Cut {
  readonly least: number;
  /** How many tokens with just that logit are in. */
  readonly ties: number;
}

function atLeast(least: number): Cut {
  return { least, ties: Infinity };
}

/** The first value, from the greatest down, with which `isEnough` holds; the last where it never does. */
function cutAt(sorted: Float32Array, isEnough: (index: number, value: number) => boolean): Cut {
  let ties = 0;
  let least = sorted[0] ?? -Infinity;
  for (let index = 0; index < sorted.length; index += 1) {
    const value = sorted[index] ?? 0;
    ties = value === least ? ties + 1 : 1;
    least = value;
    if (isEnough(index, value)) break;
  }
  return { least, ties };
}
