import type { ToolCallFormat } from "../request/request.js";

/** How calls stand in a text. */
export interface ToolCallSyntax {
  /** What a call, or a list of them, begins with; the first is the one to write. */
  readonly begins: readonly string[];
  /** What it ends with; null where it ends with its JSON. */
  readonly end: string | null;
  /** What stands around and between calls that share their markers; null where each has its own. */
  readonly list: CallList | null;
  /** One call without those markers: `{name}`, `{arguments}`, and `{index}` where calls are counted. */
  readonly call: string;
  readonly arguments: ArgumentsForm;
  /** Further tokens within a call. */
  readonly inner: readonly string[];
  /** Whether an answer that is an object of JSON is a call without a marker. */
  readonly bareObject: boolean;
  /** Whether a call ends the answer, whose last token is the call's end. */
  readonly endsAnswer: boolean;
}

interface CallList {
  readonly open: string;
  readonly between: string;
  readonly close: string;
}

/** `object`: the whole call is one object of JSON, which holds name and arguments. */
export type ArgumentsForm = "object" | "json" | MemberForm;

/** Arguments one by one. */
export interface MemberForm {
  /** One of them, with `{key}` and `{value}`. */
  readonly member: string;
  readonly between: string;
  /**
   * `raw`: strings as they are, others as JSON. `python`: literals of Python. `gemma`: JSON of bare keys,
   * with a token for the quotes.
   */
  readonly values: "raw" | "python" | "gemma";
}

/** Stands around strings in Gemma 4's calls. */
export const GEMMA_QUOTE = '<|"|>';

const BRACKETS: CallList = { open: "[", between: ", ", close: "]" };

const OBJECT = {
  call: '{"name": "{name}", "arguments": {arguments}}',
  arguments: "object",
  list: null,
  inner: [],
  bareObject: false,
  endsAnswer: false,
} as const;

/** Names with JSON behind them. */
const NAMED = { ...OBJECT, arguments: "json" } as const;

const SYNTAXES: Readonly<Record<ToolCallFormat, ToolCallSyntax>> = {
  hermes: {
    ...OBJECT,
    begins: ["<tool_call>"],
    call: '\n{"name": "{name}", "arguments": {arguments}}\n',
    end: "</tool_call>",
  },
  harmony: {
    ...NAMED,
    begins: ["<|channel|>commentary to=functions."],
    end: "<|call|>",
    call: "{name} <|constrain|>json<|message|>{arguments}",
    inner: ["<|channel|>", "<|constrain|>", "<|message|>"],
    endsAnswer: true,
  },
  phi: { ...OBJECT, begins: ["<|tool_call|>"], end: "<|/tool_call|>", list: BRACKETS },
  granite: { ...OBJECT, begins: ["<|tool_call|>"], end: null, list: BRACKETS },
  apriel: { ...OBJECT, begins: ["<tool_calls>"], end: "</tool_calls>", list: BRACKETS },
  mistral: { ...OBJECT, begins: ["[TOOL_CALLS]"], end: null, list: BRACKETS },
  "mistral-args": {
    ...NAMED,
    begins: ["[TOOL_CALLS]"],
    end: null,
    call: "{name}[ARGS]{arguments}",
    inner: ["[ARGS]"],
  },
  llama: {
    ...OBJECT,
    begins: ["<|python_tag|>"],
    end: null,
    call: '{"name": "{name}", "parameters": {arguments}}',
    bareObject: true,
  },
  functionary: {
    ...NAMED,
    begins: ["<function="],
    end: "</function>",
    call: "{name}>{arguments}",
  },
  command: {
    ...OBJECT,
    begins: ["<|START_ACTION|>"],
    end: "<|END_ACTION|>",
    list: { open: "[\n    ", between: ",\n    ", close: "\n]" },
    call: '{"tool_call_id": "{index}", "tool_name": "{name}", "parameters": {arguments}}',
  },
  "command-r": {
    ...OBJECT,
    begins: ["Action:\n```json\n"],
    end: "```",
    list: { open: "[\n    ", between: ",\n    ", close: "\n]" },
    call: '{"tool_name": "{name}", "parameters": {arguments}}',
  },
  "deepseek-r1": {
    ...NAMED,
    begins: ["<｜tool▁calls▁begin｜>"],
    end: "<｜tool▁calls▁end｜>",
    list: { open: "", between: "\n", close: "" },
    call: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>",
    inner: ["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"],
  },
  "deepseek-v3.1": {
    ...NAMED,
    begins: ["<｜tool▁calls▁begin｜>"],
    end: "<｜tool▁calls▁end｜>",
    list: { open: "", between: "", close: "" },
    call: "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
    inner: ["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"],
  },
  kimi: {
    ...NAMED,
    begins: ["<|tool_calls_section_begin|>"],
    end: "<|tool_calls_section_end|>",
    list: { open: "", between: "", close: "" },
    call: "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
    inner: ["<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"],
  },
  "qwen-coder": {
    ...OBJECT,
    begins: ["<tool_call>"],
    end: "</tool_call>",
    call: "\n<function={name}>\n{arguments}</function>\n",
    arguments: {
      member: "<parameter={key}>\n{value}\n</parameter>\n",
      between: "",
      values: "raw",
    },
  },
  seed: {
    ...OBJECT,
    begins: ["<seed:tool_call>"],
    end: "</seed:tool_call>",
    call: "\n<function={name}>\n{arguments}</function>\n",
    arguments: { member: "<parameter={key}>{value}</parameter>\n", between: "", values: "raw" },
  },
  glm: {
    ...OBJECT,
    begins: ["<tool_call>"],
    end: "</tool_call>",
    call: "{name}\n{arguments}",
    arguments: {
      member: "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
      between: "",
      values: "raw",
    },
  },
  lfm: {
    ...OBJECT,
    begins: ["<|tool_call_start|>"],
    end: "<|tool_call_end|>",
    list: BRACKETS,
    call: "{name}({arguments})",
    arguments: { member: "{key}={value}", between: ", ", values: "python" },
  },
  gemma: {
    ...OBJECT,
    begins: ["<|tool_call>"],
    end: "<tool_call|>",
    call: "call:{name}{{arguments}}",
    arguments: { member: "{key}:{value}", between: ",", values: "gemma" },
    inner: [GEMMA_QUOTE],
  },
};

export function syntaxOf(format: ToolCallFormat): ToolCallSyntax {
  return SYNTAXES[format];
}

/** Whether a marker alone tells calls from any other text, so that they can be held while the text is not. */
export function marksCalls(format: ToolCallFormat): boolean {
  const { bareObject, endsAnswer } = syntaxOf(format);
  return !bareObject && !endsAnswer;
}

/** What stands around calls and within them: tokens, or text to a tokenizer that has none. */
export function callMarkers(format: ToolCallFormat): string[] {
  const { begins, end, inner } = syntaxOf(format);
  return [...begins, ...(end === null ? [] : [end]), ...inner];
}

/** A template's pieces: texts, and names of places without their braces. */
export function piecesOf(template: string): string[] {
  return template.split(/\{(name|arguments|index|key|value)\}/);
}

type Knows = (...texts: readonly string[]) => boolean;

/** By what each format is known, those first whose markers contain others'. */
const SIGNS: readonly (readonly [ToolCallFormat, (knows: Knows, knowsToken: Knows) => boolean])[] =
  [
    ["harmony", (knows) => knows("<|channel|>", "<|message|>")],
    ["seed", (knows) => knows("<seed:tool_call>")],
    ["qwen-coder", (knows) => knows("<tool_call>", "<function=", "<parameter=")],
    ["glm", (knows) => knows("<tool_call>", "<arg_key>")],
    ["apriel", (knows) => knows("<tool_calls>[")],
    ["deepseek-r1", (knows) => knows("<｜tool▁calls▁begin｜>", "```json")],
    ["deepseek-v3.1", (knows) => knows("<｜tool▁calls▁begin｜>")],
    ["command", (knows) => knows("<|START_ACTION|>", "tool_name")],
    ["command-r", (knows) => knows("Action:", "tool_name", "```json")],
    ["gemma", (knows) => knows("<|tool_call>", "call:")],
    ["phi", (knows) => knows("<|tool_call|>", "<|/tool_call|>")],
    ["granite", (knows) => knows("<|tool_call|>")],
    ["mistral-args", (knows) => knows("[TOOL_CALLS]", "[ARGS]")],
    ["mistral", (knows) => knows("[TOOL_CALLS]")],
    ["functionary", (knows) => knows("<function=", "</function>")],
    ["hermes", (knows) => knows("<tool_call>")],
    ["llama", (knows) => knows("<|start_header_id|>", '"parameters"') || knows("<|python_tag|>")],
    // Templates of these leave calls out, or had them added later; the tokens are there in any case.
    ["lfm", (_, knowsToken) => knowsToken("<|tool_call_start|>")],
    ["kimi", (_, knowsToken) => knowsToken("<|tool_calls_section_begin|>")],
  ];

/** The format whose markers a chat template writes; undefined where it shows no call of a known one. */
export function detectFormat(
  template: string,
  tokens: readonly string[] = [],
): ToolCallFormat | undefined {
  const knows: Knows = (...texts) => texts.every((text) => template.includes(text));
  const knowsToken: Knows = (...texts) =>
    texts.every((text) => template.includes(text) || tokens.includes(text));
  return SIGNS.find(([, isKnown]) => isKnown(knows, knowsToken))?.[0];
}
