import { JobError } from "../core/errors.js";
import type { ClipSize } from "./clip-arguments.js";
import { frameByteLength } from "./encoder.js";

/** RGB in about [-1, 1], float32, plane by plane: [3, frames, height, width]. */
export interface RgbFrames extends ClipSize {
  readonly values: Float32Array;
  readonly frameCount: number;
}

/** Consecutive frames, counted from 0. */
export interface FrameSpan {
  readonly first: number;
  readonly count: number;
}

/** The largest part of frames of a size, with even sides, that has the shape of another size. */
export function evenCover(size: ClipSize, shape: ClipSize): ClipSize {
  const ratio = shape.width / shape.height;
  const even = (side: number, most: number) =>
    2 * Math.max(1, Math.min(Math.round(side / 2), Math.floor(most / 2)));
  return {
    width: even(Math.min(size.width, size.height * ratio), size.width),
    height: even(Math.min(size.height, size.width / ratio), size.height),
  };
}

/**
 * I420 uint8 [count, height × 3/2, width] of the middle of some frames, BT.709 limited range (ITU-R
 * BT.709-6, 8 bit); each chroma sample is the mean of its four pixels. Throws `invalid_output` where
 * values are not numbers.
 */
export function i420OfRgb(
  frames: RgbFrames,
  { first, count }: FrameSpan,
  cut: ClipSize,
): Uint8Array {
  const frameBytes = frameByteLength(cut.width, cut.height);
  const bytes = new Uint8ClampedArray(count * frameBytes);
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    const frame = bytes.subarray(index * frameBytes, (index + 1) * frameBytes);
    sum += convert(frames, first + index, { frame, cut });
  }
  if (!Number.isFinite(sum))
    throw new JobError("invalid_output", "the decoder produced values that are not numbers");
  return new Uint8Array(bytes.buffer);
}

interface Target {
  readonly frame: Uint8ClampedArray;
  readonly cut: ClipSize;
}

/** Fills one frame; returns the sum of its luma, which is no number where a value is none. */
function convert(
  { values, frameCount, width, height }: RgbFrames,
  index: number,
  { frame, cut }: Target,
): number {
  const size = width * height;
  const planes = [0, 1, 2].map((channel) =>
    values.subarray(
      (channel * frameCount + index) * size,
      (channel * frameCount + index + 1) * size,
    ),
  );
  const [red = values, green = values, blue = values] = planes;
  const start = ((height - cut.height) >> 1) * width + ((width - cut.width) >> 1);
  const chromaStart = cut.width * cut.height;
  const chromaSize = chromaStart / 4;
  let sum = 0;
  for (let row = 0, chroma = chromaStart; row < cut.height; row += 2) {
    for (let column = 0; column < cut.width; column += 2, chroma += 1) {
      let [lumas, blues, reds] = [0, 0, 0];
      for (let part = 0; part < 4; part += 1) {
        const [down, right] = [row + (part >> 1), column + (part & 1)];
        const at = start + down * width + right;
        const r = held(red[at]);
        const b = held(blue[at]);
        const luma = 0.2126 * r + 0.7152 * held(green[at]) + 0.0722 * b;
        frame[down * cut.width + right] = 125.5 + 109.5 * luma;
        lumas += luma;
        blues += b;
        reds += r;
      }
      frame[chroma] = 128 + (28 / 1.8556) * (blues - lumas);
      frame[chroma + chromaSize] = 128 + (28 / 1.5748) * (reds - lumas);
      sum += lumas;
    }
  }
  return sum;
}

/** Within [-1, 1]; what is not a number stays so. */
function held(value = Number.NaN): number {
  return value < -1 ? -1 : Math.min(value, 1);
}
