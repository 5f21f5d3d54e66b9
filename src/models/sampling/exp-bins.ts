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
