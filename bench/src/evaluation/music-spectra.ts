import { createPowerSpectrum } from "../../../src/media/power-spectrum.js";

export interface Frames {
  readonly frameSamples: number;
  readonly hopSamples: number;
}

/** Power spectra of overlapping frames under a periodic Hann window, first to last whole frame. */
export function powerSpectra(
  samples: Float32Array,
  { frameSamples, hopSamples }: Frames,
): Float64Array[] {
  const spectrum = createPowerSpectrum(frameSamples);
  const window = Float64Array.from(
    { length: frameSamples },
    (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / frameSamples),
  );
  const frame = new Float64Array(frameSamples);
  const count = Math.max(0, Math.floor((samples.length - frameSamples) / hopSamples) + 1);
  return Array.from({ length: count }, (_, number) => {
    for (let at = 0; at < frameSamples; at += 1)
      frame[at] = (samples[number * hopSamples + at] ?? 0) * (window[at] ?? 0);
    const powers = new Float64Array(frameSamples / 2 + 1);
    spectrum(frame, powers);
    return powers;
  });
}

export interface BandScale {
  readonly bands: number;
  readonly lowestHz: number;
  readonly highestHz: number;
  /** Between neighbouring lines of the spectrum. */
  readonly lineHz: number;
}

/** Weights of spectrum lines by band: triangles on a logarithmic scale, at least two lines wide. */
export function logarithmicBands(
  { bands, lowestHz, highestHz, lineHz }: BandScale,
  lines: number,
): Float64Array[] {
  const edge = (at: number) => lowestHz * (highestHz / lowestHz) ** (at / (bands + 1));
  return Array.from({ length: bands }, (_, band) => {
    const centre = edge(band + 1);
    const above = Math.max(edge(band + 2) - centre, lineHz);
    const below = Math.max(centre - edge(band), lineHz);
    return Float64Array.from({ length: lines }, (_unused, line) => {
      const hertz = line * lineHz;
      const slope = hertz > centre ? 1 - (hertz - centre) / above : 1 - (centre - hertz) / below;
      return Math.max(0, slope);
    });
  });
}

/** Sum of a spectrum under a band's weights. */
export function bandPower(powers: Float64Array, weights: Float64Array): number {
  let sum = 0;
  for (let line = 0; line < powers.length; line += 1)
    sum += (powers[line] ?? 0) * (weights[line] ?? 0);
  return sum;
}
