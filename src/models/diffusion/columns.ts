import { float32, floatsOf, type Tensor, type Tensors } from "../../runtime/tensors/tensor.js";

/** Columns [from, to) of a float32 feed [rows, columns]. */
export function columnsOf(
  feeds: Tensors,
  name: string,
  [from, to]: readonly [number, number],
): Tensor {
  const [rows = 0, columns = 0] = feeds[name]?.dims ?? [];
  const isWanted = (column: number) => column >= from && column < to;
  const values = floatsOf(feeds, name).filter((_, at) => isWanted(at % columns));
  return float32(values, [rows, to - from]);
}
