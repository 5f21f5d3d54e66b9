import { median } from "./measure.js";

/**
 * Slope of a line through points [x, y] by Theil and Sen: the median of the slopes of all pairs, which
 * single outliers do not move. NaN of fewer than two x.
 */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const slopes = points.flatMap(([x, y], index) =>
    points.slice(index + 1).flatMap(([laterX, laterY]) => {
      return laterX === x ? [] : [(laterY - y) / (laterX - x)];
    }),
  );
  return median(slopes);
}
