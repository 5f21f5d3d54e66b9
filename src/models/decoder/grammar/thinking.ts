import type { MarkedThinking } from "../request/request.js";
import {
  between,
  characters,
  freeText,
  type Grammar,
  marker,
  optional,
  repeat,
  sequence,
  text,
} from "./rules.js";

/** An answer behind thoughts, which are held to nothing; a model that has to begin them may do without. */
export function grammarAfterThinking(
  { begin, end, isBegun }: MarkedThinking,
  { root, rules }: Grammar,
): Grammar {
  const gap = repeat(characters(between("\n", "\n")), 0, 2);
  const thinking = sequence(freeText(end), marker(end), gap);
  const lead = isBegun ? thinking : optional(sequence(marker(begin), thinking));
  return { root: sequence(lead, root), rules };
}

/** An answer behind Harmony's messages of thoughts. */
export function grammarAfterAnalysis({ root, rules }: Grammar): Grammar {
  const thoughts = sequence(header("analysis"), freeText("<|end|>"), marker("<|end|>"));
  const next = sequence(marker("<|start|>"), text("assistant"));
  return { root: sequence(repeat(sequence(thoughts, next), 0), root), rules };
}

/** Harmony's message for the caller; any text where it is held to nothing. */
export function finalMessage(answer: Grammar | "text"): Grammar {
  const { root, rules } =
    answer === "text" ? { root: freeText("<|end|>"), rules: new Map() } : answer;
  return { root: sequence(header("final"), root), rules };
}

function header(channel: string) {
  return sequence(marker("<|channel|>"), text(channel), marker("<|message|>"));
}
