/** Powers |X[k]|², k = 0 … length/2, of one real frame; `powers` is overwritten. */
export type PowerSpectrum = (frame: Float64Array, powers: Float64Array) => void;

interface Complex {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** One pass of the transform: `radix` parts of `length`, `stride` transforms side by side. */
interface Stage {
  readonly radix: 2 | 4 | 5;
  readonly stride: number;
  /** Points of one part: length / radix. */
  readonly part: number;
  /** e^(-2πi·j·p/length) at p × radix + j. */
  readonly twiddles: Complex;
}

/**
 * A fast Fourier transform of real frames. `length` is even and half of it is a product of 2 and 5:
 * the frame becomes length/2 complex points, transformed by Stockham's self-sorting passes (Van Loan,
 * Computational Frameworks for the FFT, 1992, 1.7), then separated.
 */
export function createPowerSpectrum(length: number): PowerSpectrum {
  const half = length / 2;
  const stages = planStages(half);
  const turns = roots(length, half + 1);
  let points = complex(half);
  let other = complex(half);
  return (frame, powers) => {
    for (let at = 0; at < half; at++) {
      points.re[at] = frame[2 * at] ?? 0;
      points.im[at] = frame[2 * at + 1] ?? 0;
    }
    for (const stage of stages) {
      PASSES[stage.radix](points, other, stage);
      [points, other] = [other, points];
    }
    separate(points, turns, powers);
  };
}

function planStages(length: number): Stage[] {
  const stages: Stage[] = [];
  let rest = length;
  let stride = 1;
  while (rest > 1) {
    const radix = ([4, 2, 5] as const).find((candidate) => rest % candidate === 0);
    if (radix === undefined)
      throw new RangeError(`half a frame must have only the factors 2 and 5, got ${length}`);
    const part = rest / radix;
    stages.push({ radix, stride, part, twiddles: stageTwiddles(rest, radix) });
    rest = part;
    stride *= radix;
  }
  return stages;
}

function stageTwiddles(length: number, radix: number): Complex {
  const twiddles = complex(length);
  for (let at = 0; at < length; at++) {
    const angle = (-2 * Math.PI * Math.floor(at / radix) * (at % radix)) / length;
    twiddles.re[at] = Math.cos(angle);
    twiddles.im[at] = Math.sin(angle);
  }
  return twiddles;
}

function roots(length: number, count: number): Complex {
  const found = complex(count);
  for (let at = 0; at < count; at++) {
    found.re[at] = Math.cos((-2 * Math.PI * at) / length);
    found.im[at] = Math.sin((-2 * Math.PI * at) / length);
  }
  return found;
}

function complex(length: number): Complex {
  return { re: new Float64Array(length), im: new Float64Array(length) };
}

/** The spectrum of the real frame from that of its even and odd samples as one complex frame. */
function separate(points: Complex, turns: Complex, powers: Float64Array): void {
  const half = points.re.length;
  for (let k = 0; k <= half; k++) {
    const low = k === half ? 0 : k;
    const high = k === 0 ? 0 : half - k;
    const a = item(points.re, low);
    const b = item(points.im, low);
    const c = item(points.re, high);
    const d = -item(points.im, high);
    const oddRe = (b - d) / 2;
    const oddIm = (c - a) / 2;
    const turnRe = item(turns.re, k);
    const turnIm = item(turns.im, k);
    const re = (a + c) / 2 + turnRe * oddRe - turnIm * oddIm;
    const im = (b + d) / 2 + turnRe * oddIm + turnIm * oddRe;
    powers[k] = re * re + im * im;
  }
}

type Pass = (from: Complex, to: Complex, stage: Stage) => void;

const PASSES: Readonly<Record<Stage["radix"], Pass>> = { 2: pass2, 4: pass4, 5: pass5 };

function pass2({ re, im }: Complex, to: Complex, stage: Stage): void {
  const { stride, part } = stage;
  const step = stride * part;
  for (let p = 0; p < part; p++) {
    for (let q = 0; q < stride; q++) {
      const at = q + stride * p;
      const out = q + stride * 2 * p;
      to.re[out] = item(re, at) + item(re, at + step);
      to.im[out] = item(im, at) + item(im, at + step);
      to.re[out + stride] = item(re, at) - item(re, at + step);
      to.im[out + stride] = item(im, at) - item(im, at + step);
    }
    if (p > 0) turnRows(to, stage, p);
  }
}

function pass4({ re, im }: Complex, to: Complex, stage: Stage): void {
  const { stride, part } = stage;
  const step = stride * part;
  for (let p = 0; p < part; p++) {
    for (let q = 0; q < stride; q++) {
      const at = q + stride * p;
      const evenRe = item(re, at) + item(re, at + 2 * step);
      const evenIm = item(im, at) + item(im, at + 2 * step);
      const apartRe = item(re, at) - item(re, at + 2 * step);
      const apartIm = item(im, at) - item(im, at + 2 * step);
      const oddRe = item(re, at + step) + item(re, at + 3 * step);
      const oddIm = item(im, at + step) + item(im, at + 3 * step);
      const turnedRe = item(im, at + step) - item(im, at + 3 * step);
      const turnedIm = item(re, at + 3 * step) - item(re, at + step);
      const out = q + stride * 4 * p;
      to.re[out] = evenRe + oddRe;
      to.im[out] = evenIm + oddIm;
      to.re[out + stride] = apartRe + turnedRe;
      to.im[out + stride] = apartIm + turnedIm;
      to.re[out + 2 * stride] = evenRe - oddRe;
      to.im[out + 2 * stride] = evenIm - oddIm;
      to.re[out + 3 * stride] = apartRe - turnedRe;
      to.im[out + 3 * stride] = apartIm - turnedIm;
    }
    if (p > 0) turnRows(to, stage, p);
  }
}

const COS1 = Math.cos((2 * Math.PI) / 5);
const COS2 = Math.cos((4 * Math.PI) / 5);
const SIN1 = Math.sin((2 * Math.PI) / 5);
const SIN2 = Math.sin((4 * Math.PI) / 5);

/** Five points: sums and differences of the pairs (1, 4) and (2, 3), turned by fifths. */
function pass5({ re, im }: Complex, to: Complex, stage: Stage): void {
  const { stride, part } = stage;
  const step = stride * part;
  for (let p = 0; p < part; p++) {
    for (let q = 0; q < stride; q++) {
      const at = q + stride * p;
      const re0 = item(re, at);
      const im0 = item(im, at);
      const sum1Re = item(re, at + step) + item(re, at + 4 * step);
      const sum1Im = item(im, at + step) + item(im, at + 4 * step);
      const sum2Re = item(re, at + 2 * step) + item(re, at + 3 * step);
      const sum2Im = item(im, at + 2 * step) + item(im, at + 3 * step);
      const apart1Re = item(re, at + step) - item(re, at + 4 * step);
      const apart1Im = item(im, at + step) - item(im, at + 4 * step);
      const apart2Re = item(re, at + 2 * step) - item(re, at + 3 * step);
      const apart2Im = item(im, at + 2 * step) - item(im, at + 3 * step);
      const near1Re = re0 + COS1 * sum1Re + COS2 * sum2Re;
      const near1Im = im0 + COS1 * sum1Im + COS2 * sum2Im;
      const near2Re = re0 + COS2 * sum1Re + COS1 * sum2Re;
      const near2Im = im0 + COS2 * sum1Im + COS1 * sum2Im;
      const side1Re = SIN1 * apart1Im + SIN2 * apart2Im;
      const side1Im = -SIN1 * apart1Re - SIN2 * apart2Re;
      const side2Re = SIN2 * apart1Im - SIN1 * apart2Im;
      const side2Im = SIN1 * apart2Re - SIN2 * apart1Re;
      const out = q + stride * 5 * p;
      to.re[out] = re0 + sum1Re + sum2Re;
      to.im[out] = im0 + sum1Im + sum2Im;
      to.re[out + stride] = near1Re + side1Re;
      to.im[out + stride] = near1Im + side1Im;
      to.re[out + 2 * stride] = near2Re + side2Re;
      to.im[out + 2 * stride] = near2Im + side2Im;
      to.re[out + 3 * stride] = near2Re - side2Re;
      to.im[out + 3 * stride] = near2Im - side2Im;
      to.re[out + 4 * stride] = near1Re - side1Re;
      to.im[out + 4 * stride] = near1Im - side1Im;
    }
    if (p > 0) turnRows(to, stage, p);
  }
}

/** Multiplies the outputs of part `p` by their twiddles; those of part 0 are 1. */
function turnRows({ re, im }: Complex, { radix, stride, twiddles }: Stage, p: number): void {
  for (let j = 1; j < radix; j++) {
    const wRe = item(twiddles.re, radix * p + j);
    const wIm = item(twiddles.im, radix * p + j);
    const end = stride * (radix * p + j + 1);
    for (let at = end - stride; at < end; at++) {
      const x = item(re, at);
      const y = item(im, at);
      re[at] = x * wRe - y * wIm;
      im[at] = x * wIm + y * wRe;
    }
  }
}

/** The element; no index here leaves its array. */
function item(values: Float64Array, at: number): number {
  return values[at] ?? 0;
}
