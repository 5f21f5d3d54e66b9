import type { ToolCallFormat } from "../request/tool-call-spec.js";

/** How calls stand in a text. */
export interface ToolCallSyntax {
  readonly begins: readonly string[];
  /** Text after a call; null where a call ends with its JSON. */
  readonly end: string | null;
  /** Whether an answer that is an object of JSON is a call without a marker. */
  readonly bareObject: boolean;
  /** Whether one marker opens an array of calls. */
  readonly list: boolean;
  /** Text between a name and the JSON of its arguments; null where the JSON holds the name. */
  readonly nameEnd: string | null;
  readonly argumentsKey: "arguments" | "parameters";
  /** Whether the markers are special tokens, which are written out only when asked for. */
  readonly special: boolean;
}

const object = {
  end: null,
  bareObject: false,
  list: false,
  nameEnd: null,
  argumentsKey: "arguments",
  special: false,
} as const;

const SYNTAXES: Readonly<Record<ToolCallFormat, ToolCallSyntax>> = {
  hermes: { ...object, begins: ["<tool_call>"], end: "</tool_call>" },
  phi: { ...object, begins: ["<|tool_call|>"], end: "<|/tool_call|>", list: true, special: true },
  mistral: { ...object, begins: ["[TOOL_CALLS]"], list: true, special: true },
  "mistral-args": { ...object, begins: ["[TOOL_CALLS]"], nameEnd: "[ARGS]", special: true },
  llama: {
    ...object,
    begins: ["<|python_tag|>"],
    bareObject: true,
    argumentsKey: "parameters",
    special: true,
  },
};

export function syntaxOf(format: ToolCallFormat): ToolCallSyntax {
  return SYNTAXES[format];
}

/** The format whose markers a chat template writes; undefined where it knows no calls. */
export function detectFormat(template: string): ToolCallFormat | undefined {
  if (template.includes("<tool_call>")) return "hermes";
  if (template.includes("<|tool_call|>")) return "phi";
  if (template.includes("[TOOL_CALLS]"))
    return template.includes("[ARGS]") ? "mistral-args" : "mistral";
  const isLlama = template.includes("<|start_header_id|>") && template.includes('"parameters"');
  return isLlama || template.includes("<|python_tag|>") ? "llama" : undefined;
}
