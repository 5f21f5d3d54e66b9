import type { Planes } from "./autoencoder.js";

type Grid = Omit<Planes, "values">;

/** Planes [channels, rows, columns] as tokens [rows/2 × columns/2, channels × 4], a square of four each. */
export function packSquares(planes: Float32Array, grid: Grid): Float32Array {
  const tokens = new Float32Array(planes.length);
  for (const [plane, token] of squareIndices(grid)) tokens[token] = planes[plane] ?? 0;
  return tokens;
}

export function unpackSquares(tokens: Float32Array, grid: Grid): Float32Array {
  const planes = new Float32Array(tokens.length);
  for (const [plane, token] of squareIndices(grid)) planes[plane] = tokens[token] ?? 0;
  return planes;
}

/** Index in the planes and in the tokens of each value; within a token channel, row, column. */
function* squareIndices({ channels, height, width }: Grid): Generator<readonly [number, number]> {
  let plane = 0;
  for (let channel = 0; channel < channels; channel += 1)
    for (let row = 0; row < height; row += 1)
      for (let column = 0; column < width; column += 1) {
        const square = (row >> 1) * (width / 2) + (column >> 1);
        const within = channel * 4 + (row & 1) * 2 + (column & 1);
        yield [plane, square * channels * 4 + within];
        plane += 1;
      }
}
