/** A picture's brightness [height, width], 0 to 255. */
export interface Brightness {
  readonly values: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Pixels from the middle of an edge to where both of its sides must be reached. */
const REACH = 4;
/** Least difference of brightness between two sides, of 255. */
const LEAST_STEP = 64;

/**
 * How sharp the strong edges along the rows are: the share of an edge's whole step that lies between the
 * two pixels beside its middle, on average. 1 where every edge is one pixel wide, below a half where all
 * are ramps of 8 pixels and more. NaN where there are none.
 */
export function edgeSharpness({ values, width, height }: Brightness): number {
  let total = 0;
  let count = 0;
  for (let row = 0; row < height; row += 1) {
    const start = row * width;
    const at = (column: number) => values[start + column] ?? 0;
    const rise = (column: number) => Math.abs(at(column + 1) - at(column - 1));
    for (let column = REACH; column < width - REACH; column += 1) {
      const step = Math.abs(at(column + REACH) - at(column - REACH));
      if (step < LEAST_STEP || !isSteepest(rise, column)) continue;
      total += Math.min(1, rise(column) / step);
      count += 1;
    }
  }
  return count === 0 ? Number.NaN : total / count;
}

/** One edge is counted once: where it rises most. */
function isSteepest(rise: (column: number) => number, column: number): boolean {
  const own = rise(column);
  for (let away = 1; away < REACH; away += 1) {
    if (rise(column - away) >= own || rise(column + away) > own) return false;
  }
  return own > 0;
}
