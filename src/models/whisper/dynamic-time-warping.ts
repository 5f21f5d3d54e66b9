/**
 * For each row of `scores` [rows, columns], the first column of the cheapest monotonic path from the
 * first corner to the last that collects the greatest scores (dynamic time warping).
 */
export function warpRows(scores: Float32Array, rows: number, columns: number): Int32Array {
  const moves = costMoves(scores, rows, columns);
  const firsts = new Int32Array(rows);
  let row = rows - 1;
  let column = columns - 1;
  while (row >= 0 && column >= 0) {
    firsts[row] = column;
    const move = row === 0 ? LEFT : column === 0 ? UP : moves[row * columns + column];
    if (move !== LEFT) row--;
    if (move !== UP) column--;
  }
  return firsts;
}

const DIAGONAL = 0;
const UP = 1;
const LEFT = 2;

/** How the cheapest path comes to each cell; the cost of a cell is minus its score. */
function costMoves(scores: Float32Array, rows: number, columns: number): Uint8Array {
  const moves = new Uint8Array(rows * columns);
  let above = new Float64Array(columns + 1).fill(Infinity);
  let present = new Float64Array(columns + 1);
  above[0] = 0;
  for (let row = 0; row < rows; row++) {
    present[0] = Infinity;
    for (let column = 0; column < columns; column++) {
      const diagonal = above[column] ?? Infinity;
      const up = above[column + 1] ?? Infinity;
      const left = present[column] ?? Infinity;
      const least = Math.min(diagonal, up, left);
      const move = least === diagonal ? DIAGONAL : least === up ? UP : LEFT;
      moves[row * columns + column] = move;
      present[column + 1] = least - (scores[row * columns + column] ?? 0);
    }
    [above, present] = [present, above];
  }
  return moves;
}
