import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createMaskFactory } from "#framemill/models/decoder/grammar/grammar.js";
import { checkSchemas } from "#framemill/models/decoder/grammar/index.js";
import type { MaskSpec, ToolCallFormat } from "#framemill/models/decoder/request/request.js";
import { createToolCallReader, writeCalls } from "#framemill/models/decoder/tools/index.js";
import {
  BYTE_VOCABULARY_SIZE,
  byteTokenizerJson,
  LONG_TOKEN,
  SPECIAL_TOKEN,
  STOP_TOKEN,
} from "../../../../support/byte-tokenizer.js";
import { allowedIds, sampleMasked } from "../../../../support/masked-sampling.js";
import { createTokenBytes } from "#framemill/models/tokenizer/token-bytes.js";

const json = byteTokenizerJson();
const names = Object.fromEntries(Object.entries(json.model.vocab).map(([name, id]) => [id, name]));
const bytes = createTokenBytes(json, (id) => names[id]);
const createMask = await createMaskFactory(json, BYTE_VOCABULARY_SIZE, [STOP_TOKEN]);

function sample(spec: MaskSpec, seed: number, maxTokens = 3_000) {
  const { ids, isComplete } = sampleMasked(createMask(spec), {
    seed,
    maxTokens,
    stopTokenId: STOP_TOKEN,
  });
  return { text: bytes?.decode(ids) ?? "", isComplete };
}

/** Whether a mask lets this text be the whole answer, byte by byte. */
function accepts(spec: MaskSpec, text: string): boolean {
  const mask = createMask(spec);
  for (const byte of Buffer.from(text)) {
    if (!allowedIds(mask).includes(byte)) return false;
    mask.accept(byte);
  }
  return mask.isComplete || allowedIds(mask).includes(STOP_TOKEN);
}

const schemaOf = (schema: object): MaskSpec => ({ kind: "json-schema", schema });

const leaf = fc.oneof(
  fc.constant({ type: "boolean" }),
  fc.constant({ type: "null" }),
  fc.record({
    enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 }),
  }),
  fc
    .tuple(fc.nat(6), fc.nat(6))
    .map(([minLength, more]) => ({ type: "string", minLength, maxLength: minLength + more })),
  fc
    .tuple(fc.integer({ min: -2_000, max: 2_000 }), fc.nat(5_000))
    .map(([minimum, more]) => ({ type: "integer", minimum, maximum: minimum + more })),
  fc
    .tuple(fc.integer({ min: -300, max: 300 }), fc.integer({ min: 1, max: 500 }))
    .map(([low, more]) => ({
      type: "number",
      minimum: low / 100,
      exclusiveMaximum: (low + more) / 100,
    })),
  fc
    .constantFrom("date", "date-time", "uuid", "email", "ipv4")
    .map((format) => ({ type: "string", format })),
  fc
    .constantFrom("^[a-f]{2,5}$", '^(ab|é"|\\d+\\.\\d)$', "^[^a-z\\s]{1,3}-\\w$")
    .map((pattern) => ({ type: "string", pattern })),
);

const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    tie("object"),
    tie("array"),
    tie("union"),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.string({ maxLength: 6 }), tie("schema"), fc.boolean()), {
      maxLength: 4,
      selector: ([name]) => name,
    })
    .filter((members) => members.every(([name]) => name !== "__proto__"))
    .map((members) => ({
      type: "object",
      properties: Object.fromEntries(members.map(([name, schema]) => [name, schema])),
      required: members.filter(([, , required]) => required).map(([name]) => name),
      additionalProperties: false,
    })),
  array: fc.tuple(tie("schema"), fc.nat(2), fc.nat(2)).map(([items, minItems, more]) => ({
    type: "array",
    items,
    minItems,
    maxItems: minItems + more,
  })),
  union: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
}));

describe("an answer that is held to a schema", () => {
  test("is valid whatever is drawn, for any schema", () => {
    const property = fc.property(anySchema, fc.nat(), (schema, seed) => {
      const { text, isComplete } = sample(schemaOf(schema as object), seed);
      expect(isComplete).toBe(true);
      // Zod counts UTF-16 units; JSON Schema, and so the grammar, characters.
      const value: unknown = JSON.parse(text.replaceAll(/[\u{10000}-\u{10ffff}]/gu, "x"));
      const parsed = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(value);
      expect(parsed.error, `${text} against ${JSON.stringify(schema)}`).toBeUndefined();
    });
    fc.assert(property, { numRuns: 80, interruptAfterTimeLimit: 20_000, seed: 7 });
  });

  test("follows references, also of a schema to itself", () => {
    const node = {
      type: "object",
      properties: { name: { type: "string", maxLength: 3 }, next: { $ref: "#/$defs/list" } },
      required: ["name", "next"],
    };
    const schema = { $ref: "#/$defs/list", $defs: { list: { anyOf: [{ type: "null" }, node] } } };
    const spec = schemaOf(schema);
    expect(accepts(spec, '{"name": "a", "next": {"name":"b","next":null}}')).toBe(true);
    expect(accepts(spec, '{"name": "a", "next": {"name":"b","next":1}}')).toBe(false);
  });

  test("merges allOf with what stands beside it", () => {
    const spec = schemaOf({
      allOf: [{ properties: { a: { type: "integer", minimum: 3 } }, required: ["a"] }],
      properties: { a: { maximum: 5, type: "number" } },
      type: "object",
    });
    expect(accepts(spec, '{"a":4}')).toBe(true);
    expect(accepts(spec, '{"a":4.5}')).toBe(false);
    expect(accepts(spec, '{"a":6}')).toBe(false);
  });

  test("may have further members where they are given, under other names", () => {
    const schema = {
      type: "object",
      properties: { ab: { type: "boolean" } },
      additionalProperties: { type: "integer" },
    };
    const spec = schemaOf(schema);
    expect(accepts(spec, '{"ab":true, "a":1, "abc":2}')).toBe(true);
    expect(accepts(spec, '{"ab":1}')).toBe(false);
    expect(accepts(spec, '{"x":true}')).toBe(false);
  });

  test("holds a record as zod writes it, whose names are strings", () => {
    const spec = schemaOf(z.toJSONSchema(z.record(z.string(), z.number())));
    expect(accepts(spec, '{"a":1}')).toBe(true);
    expect(accepts(spec, '{"a":"b"}')).toBe(false);
  });

  test.each([
    [{ type: "object", patternProperties: {} }, '{"a":1}', /patternProperties/],
    [{ propertyNames: { maxLength: 2 }, type: "object" }, '{"abc":1}', /propertyNames/],
    [{ type: "array", uniqueItems: true, items: { type: "null" } }, "[null,null]", /uniqueItems/],
    [{ type: "string", pattern: "(?=a)b" }, '"c"', /look-around/],
    [{ type: "integer", multipleOf: 5 }, "6", /multipleOf/],
    [{ type: "boolean", not: { const: true } }, "true", /not/],
  ])(
    "refuses %j where it is strict, and else holds what can be held",
    async (schema, text, reason) => {
      const check = (isStrict: boolean) => checkSchemas([{ schema, param: "tools", isStrict }]);
      await expect(check(true)).rejects.toThrow(reason);
      await check(false);
      expect(accepts(schemaOf(schema), text)).toBe(true);
      expect(accepts(schemaOf(schema), "0.5")).toBe(false);
    },
  );

  test.each([
    [{ type: "strange" }, /type/],
    [{ $ref: "#/nowhere" }, /#\/nowhere/],
    [{ type: "integer", minimum: 5, maximum: 4 }, /bounds/],
    [{ $ref: "#" }, /begins with itself/],
    [{ anyOf: [{ $ref: "#" }, { type: "null" }] }, /begins with itself/],
    [{ type: "string", maxLength: 1_000_000 }, /too large/],
    [false, /true/],
  ])("refuses %j with a sentence that names what is wrong", (schema, reason) => {
    const make = () => createMask({ kind: "json-schema", schema });
    expect(make).toThrow(reason);
    expect(make).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "response_format" }),
    );
  });
});

test("JSON mode writes an object, and only its end lets the answer stop", () => {
  const mask = createMask({ kind: "json-object" });
  expect(allowedIds(mask)).not.toContain(STOP_TOKEN);
  for (const character of '{"a": [1, {"b": "\\u00e9"}]}')
    mask.accept(character.codePointAt(0) ?? 0);
  expect(mask.isComplete).toBe(true);
  expect(allowedIds(mask)).toEqual([STOP_TOKEN]);
  expect(() => mask.accept(65)).toThrow("does not fit");
});

test("special tokens are never a part of a string", () => {
  const mask = createMask({ kind: "json-object" });
  for (const character of '{"a') mask.accept(character.codePointAt(0) ?? 0);
  expect(allowedIds(mask)).not.toContain(SPECIAL_TOKEN);
  expect(allowedIds(mask)).not.toContain(STOP_TOKEN);
});

test("a forced call begins with its marker, a special token where the model has one", () => {
  const parameters = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const calls = {
    format: "mistral",
    functions: [{ name: "f", parameters, isStrict: true }],
    parallel: false,
  } as const;
  const mask = createMask({ kind: "tool-calls", calls });
  expect(allowedIds(mask)).toContain(SPECIAL_TOKEN);
  mask.accept(SPECIAL_TOKEN);
  for (const character of '[{"name": "f", "arguments": {"a":1}}]')
    mask.accept(character.codePointAt(0) ?? 0);
  expect(mask.isComplete).toBe(true);
});

/** As a model of each format writes it. */
const FORMATS: readonly ToolCallFormat[] = [
  "hermes",
  "phi",
  "granite",
  "apriel",
  "mistral",
  "mistral-args",
  "llama",
  "functionary",
  "command",
  "command-r",
  "deepseek-r1",
  "deepseek-v3.1",
  "kimi",
  "qwen-coder",
  "seed",
  "glm",
  "lfm",
  "gemma",
];

describe.each(FORMATS)("forced calls of %s", (format) => {
  const parameters = {
    type: "object",
    properties: {
      count: { type: "integer", minimum: 0, maximum: 99 },
      exact: { type: "boolean" },
      unit: { enum: ["C", "F"] },
      places: { type: "array", items: { type: "object", properties: { x: { type: "number" } } } },
      text: { type: "string" },
    },
    required: ["count", "unit"],
  };
  const callable = z.strictObject({
    count: z.int().min(0).max(99),
    exact: z.boolean().optional(),
    unit: z.enum(["C", "F"]),
    places: z.array(z.strictObject({ x: z.number().optional() })).optional(),
    text: z.string().optional(),
  });
  const functions = [{ name: "f", parameters, isStrict: true }];
  const spec = (parallel: boolean): MaskSpec => ({
    kind: "tool-calls",
    calls: { format, functions, parallel },
  });
  const readCalls = (text: string) => {
    const tools = new Map([["f", parameters]]);
    const options = { format, tools, maxCalls: Infinity, createId: () => "" };
    const reader = createToolCallReader(options);
    return [...reader.push(text), ...reader.finish()];
  };

  test("are as the schema says, and are read as they are written", () => {
    let wholeCount = 0;
    for (let seed = 0; seed < 12; seed += 1) {
      const { text, isComplete } = sample(spec(seed % 2 === 0), seed);
      // Some draw a string that does not end.
      if (!isComplete) continue;
      wholeCount += 1;
      const parts = readCalls(text);
      expect(parts).not.toEqual([]);
      for (const part of parts) {
        if (part.type !== "call")
          throw new Error(`${JSON.stringify(text)} is no call: ${JSON.stringify(parts)}`);
        expect(callable.safeParse(JSON.parse(part.call.arguments)).error).toBeUndefined();
      }
    }
    expect(wholeCount).toBeGreaterThan(2);
  });

  test("may have all of the arguments, and none that is wrong", () => {
    const full = { count: 7, exact: true, unit: "C", places: [{ x: 0.5 }, {}], text: "a b" };
    const write = (args: object) => {
      const own = JSON.stringify(args);
      return writeCalls(format, [{ name: "f", arguments: own }]);
    };
    expect(accepts(spec(false), write(full))).toBe(true);
    expect(accepts(spec(false), write({ count: 7, unit: "C" }))).toBe(true);
    expect(accepts(spec(false), write({ ...full, count: 700 }))).toBe(false);
    expect(accepts(spec(false), write({ ...full, unit: "K" }))).toBe(false);
    expect(accepts(spec(false), write({ count: 7 }))).toBe(false);
    expect(accepts(spec(false), write({ ...full, more: 1 }))).toBe(false);
  });
});

describe("an answer that may call", () => {
  const parameters = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const functions = [{ name: "f", parameters, isStrict: true }];
  const answer = (format: ToolCallFormat, parallel = true): MaskSpec => {
    return { kind: "tool-calls", calls: { format, functions, parallel }, otherwise: "text" };
  };

  test.each([
    ["hermes", "An <answer> in a tool_call.", true],
    ["hermes", "", true],
    [
      "hermes",
      'Look: <tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>\nThere.',
      true,
    ],
    ["hermes", '<tool_call>\n{"name": "f", "arguments": {"a":"1"}}\n</tool_call>', false],
    ["hermes", '<tool_call>\n{"name": "g", "arguments": {"a":1}}\n</tool_call>', false],
    ["hermes", "<tool_<tool_call>no call", false],
    ["hermes", "<tool_call>\n", false],
    ["llama", '{"name": "f", "parameters": {"a":1}}', true],
    ["llama", ' {"name": "f", "parameters": {}}', false],
    ["llama", 'An object: {"b":2}', true],
    ["phi", '<|tool_call|>[{"name": "f", "arguments": {"a":1}}]<|/tool_call|>', true],
    ["phi", "<|tool_call|>[]", false],
  ] as const)(
    "writes any text, and calls as strict functions say: %s %j is %s",
    (format, text, is) => {
      expect(accepts(answer(format), text)).toBe(is);
    },
  );

  test("is held from the marker's token on", () => {
    const mask = createMask(answer("mistral"));
    for (const character of "I call ") mask.accept(character.codePointAt(0) ?? 0);
    mask.accept(SPECIAL_TOKEN);
    expect(allowedIds(mask)).toEqual(["[".charCodeAt(0)]);
  });

  test("ends after one call where no second may follow", () => {
    const call = '<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>';
    expect(accepts(answer("hermes", false), call)).toBe(true);
    expect(accepts(answer("hermes", false), `${call}x`)).toBe(false);
  });

  test("is a call or an answer of its format", () => {
    const calls = { format: "hermes", functions, parallel: true } as const;
    const spec = { kind: "tool-calls", calls, otherwise: { kind: "json-object" } } as const;
    expect(accepts(spec, '{"b":2}')).toBe(true);
    expect(accepts(spec, '<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>')).toBe(
      true,
    );
    expect(accepts(spec, "text")).toBe(false);
  });
});

test.each([
  [{ type: "string", minLength: 0, maxLength: 100 }, 60],
  [{ type: "string", minLength: 100, maxLength: 100 }, 60],
  [{ type: "string", minLength: 0, maxLength: 39 }, -1],
])("a long token of %j is allowed up to character %i", (schema, last) => {
  const mask = createMask({ kind: "json-schema", schema });
  mask.accept(0x22);
  for (let count = 0; count < schema.maxLength; count += 1) {
    const ids = allowedIds(mask);
    expect([count, ids.includes(LONG_TOKEN)]).toEqual([count, count <= last]);
    expect(ids.includes(0x22)).toBe(count >= schema.minLength);
    mask.accept(0x62);
  }
  expect(allowedIds(mask)).toEqual([0x22]);
});

describe("a schema that costs more than it says", () => {
  /** `levels` schemas, each of which has the next one `times` over. */
  const doubling = (levels: number, times: number) => {
    const next = (level: number) => ({ $ref: `#/$defs/a${level + 1}` });
    const all = Array.from({ length: levels }, (_, level) => {
      const allOf = Array<object>(times).fill(next(level));
      return [`a${level}`, { allOf }];
    });
    const $defs = { ...Object.fromEntries(all), [`a${levels}`]: { type: "boolean" } };
    return { allOf: [{ $ref: "#/$defs/a0" }], $defs };
  };
  /** A value that is null, or a list of itself, in each of several ways. */
  const nested = (options: readonly object[]) => ({
    $ref: "#/$defs/s",
    $defs: {
      s: {
        anyOf: [
          ...options.map((option) => {
            const own = { prefixItems: [{ $ref: "#/$defs/s" }], items: false };
            return { type: "array", ...own, ...option };
          }),
          { type: "null" },
        ],
      },
    },
  });

  test("is read once a reference, however often it is referred to", () => {
    expect(accepts(schemaOf(doubling(14, 8)), "true")).toBe(true);
  });

  test("is refused once its parts are more than are read", () => {
    const enums = { enum: Array.from({ length: 30_000 }, (_, index) => index) };
    const patterns = Array.from({ length: 2_000 }, (_, index) => ({
      type: "string",
      pattern: `^(a|b){1,50}${index}$`,
    }));
    for (const schema of [enums, { anyOf: patterns }])
      expect(() => createMask(schemaOf(schema))).toThrow(
        /^response_format: the schema has more than 25000 parts at #/,
      );
  });

  test("is refused where the functions of a request have too many parts together", () => {
    const values = Array.from({ length: 20_000 }, (_, index) => index);
    const parameters = { type: "object", properties: { a: { enum: values } } };
    const functions = [1, 2, 3, 4, 5, 6].map((index) => ({
      name: `f${index}`,
      parameters,
      isStrict: true,
    }));
    const calls = { format: "mistral", functions, parallel: false } as const;
    expect(() => createMask({ kind: "tool-calls", calls })).toThrow(
      "tools: the schema is one of several with more than 100000 parts together",
    );
  });

  test("leaves the arguments of a function open that is not strict, and holds the others", () => {
    const written = (name: string, value: string) =>
      `<tool_call>\n{"name": "${name}", "arguments": {"a":${value}}}\n</tool_call>`;
    const schemas = { held: { type: "integer" }, broken: { type: "tuple" }, empty: { enum: [] } };
    const functions = Object.entries(schemas).map(([name, a]) => {
      const parameters = { type: "object", properties: { a }, required: ["a"] };
      return { name, parameters, isStrict: false };
    });
    const calls = { format: "hermes", functions, parallel: true } as const;
    const spec = { kind: "tool-calls", calls, otherwise: "text" } as const;
    expect(accepts(spec, written("held", "1"))).toBe(true);
    expect(accepts(spec, written("held", "true"))).toBe(false);
    expect(accepts(spec, written("broken", "true"))).toBe(true);
    expect(accepts(spec, written("empty", "true"))).toBe(true);
  });

  test("is let go within an answer where its function is not strict", () => {
    const a = nested([1, 2, 3, 4].map((title) => ({ title })));
    const parameters = { type: "object", properties: { a: { $ref: "#/$defs/s" } }, $defs: a.$defs };
    const functions = [{ name: "f", parameters, isStrict: false }];
    const calls = { format: "hermes", functions, parallel: true } as const;
    const spec = { kind: "tool-calls", calls, otherwise: "text" } as const;
    const call = `<tool_call>\n{"name": "f", "arguments": {"a":${"[".repeat(30)}1${"]".repeat(30)}}}\n</tool_call>`;
    expect(accepts(spec, call)).toBe(true);
    expect(accepts(spec, call.replace('"a"', '"b"'))).toBe(true);
  });

  test("is followed in one way where its alternatives are equal", () => {
    const schema = nested(Array.from({ length: 8 }, () => ({})));
    expect(accepts(schemaOf(schema), `${"[".repeat(30)}null${"]".repeat(30)}`)).toBe(true);
  });

  test("ends its answer where a text can be read in ever more ways", () => {
    const mask = createMask(schemaOf(nested([1, 2, 3, 4].map((title) => ({ title })))));
    const open = () => {
      for (let depth = 0; depth < 30; depth += 1) {
        mask.allowed();
        mask.accept(0x5b);
      }
    };
    expect(open).toThrow(/^response_format: the text can be read in more than 4000 ways at once/);
  });
});
