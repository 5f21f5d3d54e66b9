import type { ThinkingSpec } from "../request/request.js";
import {
  between,
  characters,
  freeText,
  type Grammar,
  optional,
  repeat,
  sequence,
  marker,
} from "./rules.js";

/** An answer behind thoughts, which are held to nothing; a model that has to begin them may do without. */
export function grammarAfterThinking(
  { begin, end, isBegun }: ThinkingSpec,
  { root, rules }: Grammar,
): Grammar {
  const gap = repeat(characters(between("\n", "\n")), 0, 2);
  const thinking = sequence(freeText(end), marker(end), gap);
  const lead = isBegun ? thinking : optional(sequence(marker(begin), thinking));
  return { root: sequence(lead, root), rules };
}
