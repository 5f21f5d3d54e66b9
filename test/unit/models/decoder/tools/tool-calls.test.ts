import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerPart } from "#framemill/models/decoder/request/generation-request.js";
import type { ToolCallFormat } from "#framemill/models/decoder/request/request.js";
import {
  createToolCallReader,
  detectFormat,
  writeCalls,
} from "#framemill/models/decoder/tools/index.js";

const TOOLS = new Map([
  [
    "weather",
    {
      type: "object",
      properties: {
        city: { type: "string" },
        days: { type: ["integer", "null"] },
        exact: { type: "boolean" },
        hours: { type: "array", items: { type: "integer" } },
        place: { type: "object", properties: { zip: { type: "string" } } },
        any: {},
      },
    },
  ],
  ["time", null],
]);

/** Parts of an answer that arrives in these pieces, adjacent texts joined. */
function read(
  format: ToolCallFormat,
  pieces: readonly string[],
  maxCalls = Infinity,
): AnswerPart[] {
  let ids = 0;
  const createId = () => `call_${(ids += 1)}`;
  const reader = createToolCallReader({ format, tools: TOOLS, maxCalls, createId });
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
  ["granite", '<|tool_call|>[{"name": "time", "arguments": {}}]', [call(1, "time", {})]],
  [
    "apriel",
    'So:\n<tool_calls>[{"name": "time", "arguments": {}, "id": "0"}]</tool_calls>',
    [text("So:"), call(1, "time", {})],
  ],
  [
    "functionary",
    '<function=weather>{"city": "x</"}</function><function=time>{}</function>',
    [call(1, "weather", { city: "x</" }), call(2, "time", {})],
  ],
  [
    "command",
    '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "x"}}\n]<|END_ACTION|>',
    [call(1, "weather", { city: "x" })],
  ],
  [
    "command-r",
    'Action:\n```json\n[\n    {\n        "tool_name": "time",\n        "parameters": {}\n    }\n]```',
    [call(1, "time", {})],
  ],
  [
    "deepseek-r1",
    'ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{"city": "x"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [text("ok"), call(1, "weather", { city: "x" }), call(2, "time", {})],
  ],
  [
    "deepseek-v3.1",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "x"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [call(1, "weather", { city: "x" }), call(2, "time", {})],
  ],
  [
    "kimi",
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "x"}<|tool_call_end|><|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    [call(1, "weather", { city: "x" }), call(2, "time", {})],
  ],
  [
    "qwen-coder",
    "Well.\n\n<tool_call>\n<function=weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n<parameter=hours>\n[1, 2]\n</parameter>\n</function>\n</tool_call>",
    [text("Well."), call(1, "weather", { city: "5", days: 5, exact: true, hours: [1, 2] })],
  ],
  [
    "qwen-coder",
    "<tool_call>\n<function=weather>\n<parameter=city>\n  if x < 1:\n    y()\n\n</parameter>\n<parameter=days>\nnull\n</parameter>\n<parameter=any>\n[]\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=time>\n</function>\n</tool_call>",
    [
      call(1, "weather", { city: "  if x < 1:\n    y()\n", days: null, any: [] }),
      call(2, "time", {}),
    ],
  ],
  [
    "qwen-coder",
    "<tool_call>\n<function=weather>\nRome\n</function>\n</tool_call>",
    [text("<tool_call>\n<function=weather>\nRome\n</function>\n</tool_call>")],
  ],
  [
    "seed",
    "<seed:tool_call>\n<function=weather>\n<parameter=city>a\nb</parameter>\n<parameter=days>soon</parameter>\n</function>\n</seed:tool_call>",
    [call(1, "weather", { city: "a\nb", days: "soon" })],
  ],
  [
    "glm",
    '\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>7</arg_value>\n<arg_key>place</arg_key>\n<arg_value>{"zip": "1"}</arg_value>\n</tool_call>',
    [call(1, "weather", { city: "7", place: { zip: "1" } })],
  ],
  [
    "lfm",
    `<|tool_call_start|>[weather(city="x)], \\"y\\"", days=-2.5, exact=True, hours=[1, 2], place={'zip': None}), time()]<|tool_call_end|>Wait.`,
    [
      call(1, "weather", {
        city: 'x)], "y"',
        days: -2.5,
        exact: true,
        hours: [1, 2],
        place: { zip: null },
      }),
      call(2, "time", {}),
      text("Wait."),
    ],
  ],
  [
    "lfm",
    "<|tool_call_start|>[weather(city='it's')]<|tool_call_end|>",
    [call(1, "weather", { city: "it's" })],
  ],
  [
    "lfm",
    "<|tool_call_start|>[weather('x')]<|tool_call_end|>",
    [text("<|tool_call_start|>[weather('x')]<|tool_call_end|>")],
  ],
  [
    "gemma",
    '<|tool_call>call:weather{city:<|"|>a}, "b"<|"|>,days:3,hours:[1,2],place:{zip:<|"|><|"|>}}<tool_call|><|tool_call>call:time{}<tool_call|>',
    [
      call(1, "weather", { city: 'a}, "b"', days: 3, hours: [1, 2], place: { zip: "" } }),
      call(2, "time", {}),
    ],
  ],
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
      tools: TOOLS,
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

test.each([...new Set(CASES.map(([format]) => format))])(
  "calls that are written for %s are read as they were",
  (format) => {
    const args = { city: 'Rome, "x"', days: 2, exact: false, hours: [], place: { zip: "1" } };
    const written = [
      { name: "weather", arguments: JSON.stringify(args) },
      { name: "time", arguments: "{}" },
    ];
    const calls = [call(1, "weather", args), call(2, "time", {})];
    // Without a marker a call is the whole answer.
    const most = format === "llama" ? 1 : 2;
    expect(read(format, [writeCalls(format, written.slice(0, most))])).toEqual(
      calls.slice(0, most),
    );
  },
);

test.each([
  ["{{- '<tool_call>' }}", "hermes"],
  ["[TOOL_CALLS]", "mistral"],
  ["[TOOL_CALLS]{{ name }}[ARGS]", "mistral-args"],
  ['<|start_header_id|> {"name": x, "parameters": y}', "llama"],
  ["<|tool_call|>{{ calls }}<|/tool_call|>", "phi"],
  ["<tool_call>\n<function={{ name }}>\n<parameter={{ key }}>", "qwen-coder"],
  ["<tool_call>{{ name }}\n<arg_key>{{ key }}</arg_key>", "glm"],
  ["as XML within <tool_call></tool_call>:\n<tool_calls>[{{ calls }}]</tool_calls>", "apriel"],
  ["<|tool_call>call:{{ name }}", "gemma"],
  ["{{ tools }}", undefined],
  ["{{ message.content }}", undefined],
])("the template %j writes calls as %s", (template, format) => {
  expect(detectFormat(template)).toBe(format);
});

test("tokens tell how calls are written where a template leaves them out", () => {
  expect(detectFormat("{{ tools }}", ["<|tool_call_start|>", "<|tool_call_end|>"])).toBe("lfm");
});
