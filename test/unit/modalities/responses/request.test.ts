import { describe, expect, test } from "vitest";
import type { GenerationOutput } from "#framemill/models/decoder/request/generation-request.js";
import { renderResponse, responseObject } from "#framemill/modalities/responses/response-object.js";
import { parseResponsesBody } from "#framemill/modalities/responses/request.js";

const model = { id: "m", modality: "chat", createdAtSeconds: 0, concurrency: 1 };
const nothing = { model, findEarlier: () => Promise.resolve(undefined) };
const admit = (body: object, context = nothing) =>
  parseResponsesBody({ model: "m", input: "Hi", ...body }, context);

const output: GenerationOutput = {
  choices: [
    {
      parts: [
        { type: "text", text: "Well" },
        { type: "call", call: { id: "call_1", name: "f", arguments: "{}" } },
      ],
      finishReason: "tool_calls",
      logprobs: null,
    },
  ],
  usage: { promptTokens: 3, completionTokens: 4 },
};

describe("a responses body", () => {
  test("puts its instructions first and is stored unless it says otherwise", async () => {
    const request = await admit({ instructions: "Be brief." });
    expect(request.isStored).toBe(true);
    expect(request.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ]);
    expect((await admit({ store: false })).isStored).toBe(false);
    expect(JSON.parse(JSON.stringify(request))).toEqual(request);
  });

  test("asks for the fewest tokens of an answer as a chat does", async () => {
    expect(await admit({ min_tokens: 4 })).toMatchObject({ minTokens: 4 });
    expect(await admit({ ignore_eos: true })).toMatchObject({ minTokens: 1_000_000 });
    expect(await admit({ ignore_eos: false })).not.toHaveProperty("minTokens");
  });

  test("may ask a stream for the usage that it has always", async () => {
    const stream = { stream: true, stream_options: { include_usage: true } };
    expect(await admit(stream)).toMatchObject({ stream: true });
  });

  test("continues an earlier response without its instructions", async () => {
    const earlier = await admit({ instructions: "Old." });
    const context = { model, findEarlier: () => Promise.resolve({ request: earlier, output }) };
    const result = { type: "function_call_output", call_id: "call_1", output: "ok" };
    const body = { instructions: "New.", previous_response_id: "resp_1", input: [result] };
    const request = await parseResponsesBody({ model: "m", ...body }, context);
    expect(request.messages).toEqual([
      { role: "system", content: "New." },
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: "Well",
        toolCalls: [{ id: "call_1", name: "f", arguments: "{}" }],
      },
      { role: "tool", content: "ok", toolCallId: "call_1" },
    ]);
  });

  test("reads the items that a stored response has by their ids", async () => {
    const key = "0123456789abcdef".repeat(2);
    const stored = await admit({});
    const context = {
      model,
      findEarlier: async (id: string) =>
        id === `resp_${key}` ? { request: stored, output } : undefined,
    };
    const referTo = async (...ids: string[]) => {
      const references = ids.map((id) => ({ type: "item_reference", id }));
      const result = { type: "function_call_output", call_id: "call_1", output: "ok" };
      const input = [{ role: "user", content: "Hi" }, ...references, result];
      return await parseResponsesBody({ model: "m", input }, context);
    };
    const { messages } = await referTo(`msg_${key}0`, `fc_${key}1`);
    expect(messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: "Well",
        toolCalls: [{ id: "call_1", name: "f", arguments: "{}" }],
      },
      { role: "tool", content: "ok", toolCallId: "call_1" },
    ]);
    for (const id of [`msg_${key}2`, `msg_${key.replace("0", "f")}0`, "msg_x"])
      await expect(referTo(id)).rejects.toMatchObject({ code: "not_found", param: "input.1.id" });
  });

  test("says to the template how much to think, and in the response what was asked for", async () => {
    const request = await admit({ input: "x", reasoning: { effort: "none", summary: "auto" } });
    const thinking = { enable_thinking: false, thinking: false };
    expect(request.templateVariables).toEqual({ reasoning_effort: "none", ...thinking });
    expect(request.reasoningEffort).toBe("none");
    const refused = admit({ input: "x", reasoning: { effort: "lots" } });
    await expect(refused).rejects.toMatchObject({ param: "reasoning.effort" });
  });

  test("names the item that it cannot read", async () => {
    const input = [{ role: "user", content: "Hi" }, { type: "file_search_call" }];
    await expect(admit({ input })).rejects.toMatchObject({
      param: "input.1.type",
      message: expect.stringContaining("must be message, function_call") as string,
    });
  });

  test("reads its own output items back as input", async () => {
    const input = [
      { role: "user", content: "Hi" },
      { type: "reasoning", id: "rs", summary: [] },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Well", annotations: [], logprobs: [] }],
      },
      { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "ok" }] },
    ];
    expect((await admit({ input })).messages.slice(1)).toEqual([
      { role: "assistant", content: "Well", toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
      { role: "tool", content: "ok", toolCallId: "c" },
    ]);
  });

  test.each([
    [{ input: undefined }, "input", "missing_required_parameter"],
    [{ input: [] }, "input", "invalid_value"],
    [
      { input: [{ type: "function_call_output", call_id: "c", output: "x" }] },
      "input.0.call_id",
      "invalid_value",
    ],
    [{ previous_response_id: "resp_0" }, "previous_response_id", "response_not_found"],
    [{ background: true, store: false }, "background", "invalid_value"],
    [{ include: ["file_search_call.results"] }, "include", "invalid_value"],
    [{ conversation: "c" }, "conversation", "unknown_parameter"],
    [
      { text: { format: { type: "json_schema", name: "x", strict: true, schema: { not: {} } } } },
      "text.format",
      "invalid_value",
    ],
  ])("with %j is refused for %s", async (body, param, code) => {
    await expect(admit(body)).rejects.toMatchObject({ param, code });
  });
});

describe("a stored response", () => {
  const view = {
    id: "resp_0a",
    model: "m",
    progress: 0,
    stage: null,
    createdAtMs: 1_790_000_000_000,
    startedAtMs: null,
    serviceTier: "default" as const,
    completedAtMs: null,
    expiresAtMs: null,
    failure: null,
    queuePosition: null,
    etaSeconds: null,
    quote: { prices: {}, units: {}, amountNanoUsd: 0 },
    chargedNanoUsd: null,
    usage: null,
    output: null,
  };

  test("has the items of its answer under the ids that a stream gave them", async () => {
    const request = await admit({});
    const object = renderResponse({ ...view, request, state: "completed", output });
    expect(responseObject.parse(object)).toEqual(object);
    expect(object).toMatchObject({ status: "completed", usage: { total_tokens: 7 } });
    expect(object.output.map(({ id }) => id)).toEqual(["msg_0a0", "fc_0a1"]);
  });

  test.each([
    ["queued", null, "queued"],
    ["in_progress", null, "in_progress"],
    ["failed", { code: "server_error", message: "x" }, "failed"],
    ["failed", { code: "cancelled", message: "x" }, "cancelled"],
  ] as const)("that is %s with %j is %s", async (state, failure, status) => {
    const object = renderResponse({ ...view, request: await admit({}), state, failure });
    expect(responseObject.parse(object)).toEqual(object);
    expect(object).toMatchObject({ status, output: [], usage: null });
  });
});
