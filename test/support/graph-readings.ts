import type { Dims, ElementType, Graph } from "./onnx.js";

/** ONNX's numbers of the types that are cast. */
const ONNX_TYPES = { float32: 1, int32: 6, int64: 7, string: 8, bool: 9, float16: 10 } as const;

export function cast(graph: Graph, value: string, type: ElementType): string {
  return graph.node("Cast", [value], { to: ONNX_TYPES[type] });
}

/** An input of any type, as float32. */
export function asFloats(graph: Graph, name: string, type: ElementType, dims: Dims): string {
  return cast(graph, graph.input(name, type, dims), "float32");
}

/** Mean of the sums up to each place along the axes: whatever is elsewhere, or missing, is told apart. */
export function readingOf(graph: Graph, value: string, axes: readonly number[]): string {
  const sums = axes.reduce((sum, axis) => graph.node("CumSum", [sum, graph.integers(axis)]), value);
  return graph.node("ReduceMean", [sums], { axes, keepdims: 0 });
}

/** What `readingOf` says of rows, by how many sums each value is a part of. */
export function reading(rows: readonly (readonly number[])[]): number {
  const means = rows.map(
    (row) => row.reduce((sum, value, at) => sum + value * (row.length - at), 0) / row.length,
  );
  return means.reduce((sum, mean, at) => sum + mean * (rows.length - at), 0) / rows.length;
}
