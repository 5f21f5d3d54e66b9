import { join } from "node:path";
import { openGraphs, type Graphs } from "../../../src/runtime/ort/graphs.js";
import { type EvaluationContext, mean, rounded } from "./evaluator.js";

/** Looks at what is made of each case, one after the other, with the package's own probe at hand. */
export async function probeEach<Case, Seen>(
  context: EvaluationContext,
  cases: readonly Case[],
  see: (one: Case, probe: Graphs) => Promise<Seen>,
): Promise<Seen[]> {
  const graphs = { probe: join(context.folder, "probe.onnx") };
  const probe = await openGraphs({ graphs, threads: 1, providers: ["cpu"] });
  try {
    const seen: Seen[] = [];
    for (const one of cases) {
      seen.push(await see(one, probe));
      context.progress(seen.length, cases.length);
    }
    return seen;
  } finally {
    await probe.close();
  }
}

/** Values of each attribute, in the order of a probe's logits. */
export type Attributes = Readonly<Record<string, readonly string[]>>;

/** One case beside what a probe found in what was made of it. */
export interface Found {
  /** Attribute to value, as far as the prompt states it. */
  readonly stated: Readonly<Record<string, string>>;
  /** Attributes whose word no training ever held. */
  readonly unheard: readonly string[];
  /** What the probe found. */
  readonly found: Readonly<Record<string, string>>;
}

/** The likeliest value of each attribute. */
export function readLogits(logits: Float32Array, known: Attributes): Record<string, string> {
  const found: Record<string, string> = {};
  let start = 0;
  for (const [name, values] of Object.entries(known)) {
    const scores = logits.subarray(start, start + values.length);
    found[name] = values[scores.indexOf(Math.max(...scores))] ?? "";
    start += values.length;
  }
  return found;
}

/** Of the cases that state an attribute, those in which it is found. */
export function shareFound(seen: readonly Found[], name: string): number {
  const told = seen.filter(({ stated }) => stated[name] !== undefined);
  return rounded(mean(told.map(({ stated, found }) => (stated[name] === found[name] ? 1 : 0))));
}

/** Of the words that no training ever held, those whose attribute is found. */
export function shareUnheard(seen: readonly Found[]): number {
  const hits = seen.flatMap(({ unheard, stated, found }) =>
    unheard.map((name) => (stated[name] === found[name] ? 1 : 0)),
  );
  return rounded(mean(hits));
}

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
