/**
 * Fréchet distance of the normal distribution that fits the points [count][size] to the standard
 * normal one: |mean|² + Σ (√λ - 1)² over the eigenvalues λ of the points' covariance.
 */
export function distanceFromStandardNormal(points: readonly Float32Array[]): number {
  const [first] = points;
  if (first === undefined || points.length < 2) return Number.NaN;
  const means = Array.from(first, (_, column) => average(points.map((row) => row[column] ?? 0)));
  const centred = points.map((row) =>
    Array.from(row, (value, column) => value - (means[column] ?? 0)),
  );
  const covariance = means.map((_, i) =>
    means.map(
      (__, j) => sumOf(centred.map((row) => (row[i] ?? 0) * (row[j] ?? 0))) / (points.length - 1),
    ),
  );
  const spread = eigenvalues(covariance).map((value) => (Math.sqrt(Math.max(0, value)) - 1) ** 2);
  return sumOf(means.map((value) => value ** 2)) + sumOf(spread);
}

const SWEEPS = 12;

/** Of a symmetric matrix, by Jacobi rotations. */
function eigenvalues(matrix: readonly (readonly number[])[]): number[] {
  const rows = matrix.map((row) => [...row]);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let p = 0; p < rows.length; p++) {
      for (let q = p + 1; q < rows.length; q++) rotate(rows, p, q);
    }
  }
  return rows.map((row, index) => row[index] ?? 0);
}

/** Turns rows and columns p and q so that their common entry vanishes. */
function rotate(rows: number[][], p: number, q: number): void {
  const [first, second] = [rows[p] ?? [], rows[q] ?? []];
  const off = entry(first, q);
  if (Math.abs(off) < 1e-12) return;
  const angle = 0.5 * Math.atan2(2 * off, entry(second, q) - entry(first, p));
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  for (const row of rows) {
    const [a, b] = [entry(row, p), entry(row, q)];
    row[p] = cosine * a - sine * b;
    row[q] = sine * a + cosine * b;
  }
  for (const index of first.keys()) {
    const [a, b] = [entry(first, index), entry(second, index)];
    first[index] = cosine * a - sine * b;
    second[index] = sine * a + cosine * b;
  }
}

function entry(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}

function average(values: readonly number[]): number {
  return sumOf(values) / Math.max(1, values.length);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
