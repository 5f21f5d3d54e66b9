import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerPart } from "#framemill/models/decoder/request/generation-request.js";
import { detectFormat } from "#framemill/models/decoder/tools/tool-calls.js";
import type { ToolCallFormat } from "#framemill/models/decoder/request/request.js";
import { createToolCallReader } from "#framemill/models/decoder/tools/tool-calls.js";

/** Parts of an answer that arrives in these pieces, adjacent texts joined. */
function read(
  format: ToolCallFormat,
  pieces: readonly string[],
  maxCalls = Infinity,
): AnswerPart[] {
  let ids = 0;
  const createId = () => `call_${(ids += 1)}`;
  const names = new Set(["weather", "time"]);
  const reader = createToolCallReader({ format, names, maxCalls, createId });
  const parts = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.finish()];
  const joined: AnswerPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text")
      joined.splice(-1, 1, text(last.text + part.text));
    else joined.push(part);
  }
  return joined;
}

const text = (value: string): AnswerPart => ({ type: "text", text: value });
const call = (id: number, name: string, args: object): AnswerPart => ({
  type: "call",
  call: { id: `call_${id}`, name, arguments: JSON.stringify(args) },
});

const CASES: readonly [ToolCallFormat, string, readonly AnswerPart[]][] = [
  [
    "hermes",
    'Let me look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Pa<ris"}}\n</tool_call>\n<tool_call>{"name":"time","arguments":{}}</tool_call>',
    [text("Let me look."), call(1, "weather", { city: "Pa<ris" }), call(2, "time", {})],
  ],
  [
    "hermes",
    'a <tool_call>{"name": "unknown", "arguments": {}}</tool_call> b',
    [text('a <tool_call>{"name": "unknown", "arguments": {}}</tool_call> b')],
  ],
  ["hermes", "x <tool_call>{oops}</tool_call>\n", [text("x <tool_call>{oops}</tool_call>\n")]],
  ["hermes", '<tool_call>{"name":"time","arguments":{}}', [call(1, "time", {})]],
  ["hermes", " 1 < 2 <tool", [text(" 1 < 2 <tool")]],
  [
    "mistral",
    '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "]}\\""}}, {"name": "time", "arguments": {}}]',
    [call(1, "weather", { city: ']}"' }), call(2, "time", {})],
  ],
  ["mistral", "[TOOL_CALLS] none", [text("[TOOL_CALLS] none")]],
  [
    "mistral-args",
    'ok [TOOL_CALLS]weather[ARGS]{"city": "x"}[TOOL_CALLS]time[ARGS]{}',
    [text("ok"), call(1, "weather", { city: "x" }), call(2, "time", {})],
  ],
  [
    "llama",
    '{"name": "weather", "parameters": {"city": "x"}}',
    [call(1, "weather", { city: "x" })],
  ],
  ["llama", '<|python_tag|>{"name": "time", "parameters": {}}', [call(1, "time", {})]],
  ["llama", '{"a": 1} and more', [text('{"a": 1} and more')]],
  [
    "llama",
    'see {"name": "time", "parameters": {}}',
    [text('see {"name": "time", "parameters": {}}')],
  ],
  ["phi", '<|tool_call|>[{"name": "time", "arguments": {}}]<|/tool_call|>', [call(1, "time", {})]],
];

describe("calls in an answer", () => {
  test.each(CASES)("%s: %s", (format, answer, parts) => {
    expect(read(format, [answer])).toEqual(parts);
  });

  test("are read alike however the answer is cut into pieces", () => {
    const property = fc.property(
      fc.constantFrom(...CASES),
      fc.array(fc.nat(130), { maxLength: 12 }),
      ([format, answer, parts], cuts) => {
        const places = [0, ...cuts.toSorted((left, right) => left - right), answer.length];
        const pieces = places.slice(1).map((end, index) => answer.slice(places[index], end));
        expect(read(format, pieces)).toEqual(parts);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  test("let the text before them through at once, and nothing of them", () => {
    const reader = createToolCallReader({
      format: "hermes",
      names: new Set(["time"]),
      maxCalls: 1,
      createId: () => "call_1",
    });
    expect(reader.push("Wait")).toEqual([text("Wait")]);
    expect(reader.push(" <tool")).toEqual([]);
    expect(reader.push('_call>{"name": "time",')).toEqual([]);
    expect(reader.push(' "arguments": {}}</tool_call>')).toEqual([call(1, "time", {})]);
  });

  test("beyond what a request allows are left out", () => {
    const one = '<tool_call>{"name":"time","arguments":{}}</tool_call>';
    expect(read("hermes", [one + one], 1)).toEqual([call(1, "time", {})]);
  });
});

test.each([
  ["{{- '<tool_call>' }}", "hermes"],
  ["[TOOL_CALLS]", "mistral"],
  ["[TOOL_CALLS]{{ name }}[ARGS]", "mistral-args"],
  ['<|start_header_id|> {"name": x, "parameters": y}', "llama"],
  ["<|tool_call|>", "phi"],
  ["{{ message.content }}", undefined],
])("the template %j writes calls as %s", (template, format) => {
  expect(detectFormat(template)).toBe(format);
});
