import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import { toJobError } from "../../core/errors.js";
import { isEndState } from "../../core/job.js";
import type { Chunk } from "../../core/events.js";
import type { Exchange, JobView } from "../../core/modality.js";
import type {
  GenerationChoice,
  GenerationDelta,
  GenerationOutput,
  ToolCall,
} from "../../models/decoder/request/generation-request.js";
import { deltaOf, openDeltas, tokenLogprobs } from "../shared/generation-answer.js";
import type { ResponsesRequest } from "./request.js";
import {
  callItem,
  type ItemStatus,
  messageItem,
  outputText,
  reasoningItem,
  reasoningText,
  renderResponse,
  type ResponseEvent,
  type ResponseState,
  toResponse,
} from "./response-object.js";

type ResponsesExchange = Exchange<ResponsesRequest, GenerationOutput, GenerationDelta>;

export async function answerResponses(exchange: ResponsesExchange): Promise<Answer> {
  const begun = begin(exchange);
  if (exchange.request.stream) {
    // The first delta is awaited, so that a refused prompt has its own status.
    const deltas = await openDeltas(exchange.chunks);
    return { mediaType: EVENT_STREAM, body: streamResponse({ exchange, begun, deltas }) };
  }
  const { output, completedAtMs } = await exchange.finished();
  return { json: toResponse({ ...begun, status: "completed", output, completedAtMs }) };
}

function begin({
  id,
  model,
  serviceTier,
  request,
  createdAtMs,
}: Pick<
  ResponsesExchange,
  "id" | "model" | "serviceTier" | "request" | "createdAtMs"
>): ResponseState {
  const nothing = { output: null, failure: null, completedAtMs: null };
  return { id, model, serviceTier, request, createdAtMs, status: "in_progress", ...nothing };
}

interface Stream {
  readonly exchange: Exchange<ResponsesRequest, GenerationOutput, GenerationDelta>;
  readonly begun: ResponseState;
  readonly deltas: AsyncIterable<Chunk<GenerationDelta>>;
}

type EventType = ResponseEvent["type"];
type FieldsOf<Type extends EventType> = Omit<
  Extract<ResponseEvent, { type: Type }>,
  "type" | "sequence_number"
>;

/** Writes one event; numbers them from 0. */
type Write = <const Type extends EventType>(type: Type, fields: FieldsOf<Type>) => string;

/** `event:` and `data:` of each step, from `response.created` to its end in the OpenAI API's order. */
async function* streamResponse({ exchange, begun, deltas }: Stream): AsyncGenerator<string> {
  const write = createWrite();
  try {
    yield write("response.created", { response: toResponse(begun) });
    yield write("response.in_progress", { response: toResponse(begun) });
    const items = createItems(begun.id, write);
    for await (const chunk of deltas) {
      const { parts, logprobs = null } = deltaOf(chunk);
      yield* items.add({ parts, logprobs });
    }
    const { output, completedAtMs } = await exchange.finished();
    const response = toResponse({ ...begun, status: "completed", output, completedAtMs });
    yield* items.finish(response.status === "incomplete" ? "incomplete" : "completed");
    yield writeEnd(write, response);
  } catch (thrown) {
    const { code, message } = toJobError(thrown);
    yield writeEnd(write, toResponse({ ...begun, status: "failed", failure: { code, message } }));
  }
}

/**
 * The events of a stored response up to its present state. Its text, which was not kept as it came, is one
 * piece.
 */
export function responseEvents(job: JobView<ResponsesRequest, GenerationOutput>): string[] {
  const write = createWrite();
  const { id, request, startedAtMs, state, output } = job;
  const begun = begin(job);
  const queued = { ...begun, status: request.isBackground ? "queued" : begun.status } as const;
  const events = [write("response.created", { response: toResponse(queued) })];
  if (request.isBackground) events.push(write("response.queued", { response: toResponse(queued) }));
  if (startedAtMs !== null)
    events.push(write("response.in_progress", { response: toResponse(begun) }));
  if (!isEndState(state)) return events;
  const response = renderResponse(job);
  const [choice] = output?.choices ?? [];
  if (choice !== undefined) {
    const items = createItems(id, write);
    const { parts, logprobs } = choice;
    events.push(...items.add({ parts, logprobs }));
    events.push(...items.finish(response.status === "incomplete" ? "incomplete" : "completed"));
  }
  return [...events, writeEnd(write, response)];
}

function createWrite(): Write {
  let sequence = 0;
  return (type, fields) => {
    const event = serverSentEvent({ type, sequence_number: sequence, ...fields }, type);
    sequence += 1;
    return event;
  };
}

function writeEnd(write: Write, response: ReturnType<typeof toResponse>): string {
  const { status } = response;
  if (status === "completed" || status === "incomplete")
    return write(`response.${status}`, { response });
  return write("response.failed", { response });
}

interface OpenText {
  readonly type: "text" | "reasoning";
  readonly id: string;
  readonly index: number;
  text: string;
  readonly logprobs: ReturnType<typeof tokenLogprobs>;
}

/** The output items as they come to be. */
function createItems(responseId: string, write: Write) {
  let count = 0;
  let open: OpenText | undefined;

  function itemOf(
    { type, index, text, logprobs }: Pick<OpenText, "type" | "index" | "text" | "logprobs">,
    status: ItemStatus,
  ) {
    const isBegun = status === "in_progress";
    if (type === "reasoning")
      return reasoningItem(responseId, index, {
        content: isBegun ? [] : [reasoningText(text)],
        status,
      });
    return messageItem(responseId, index, {
      content: isBegun ? [] : [outputText(text, logprobs)],
      status,
    });
  }
  function* openText(type: OpenText["type"]): Generator<string, OpenText> {
    const begun = { type, index: count, text: "", logprobs: [] };
    count += 1;
    const item = itemOf(begun, "in_progress");
    yield write("response.output_item.added", { output_index: begun.index, item });
    const place = { item_id: item.id, output_index: begun.index, content_index: 0 };
    const part = type === "text" ? outputText("") : reasoningText("");
    yield write("response.content_part.added", { ...place, part });
    return { ...begun, id: item.id };
  }
  function* addText(
    { type, text: delta }: Pick<OpenText, "type" | "text">,
    logprobs: ReturnType<typeof tokenLogprobs>,
  ): Generator<string> {
    if (open?.type !== type) yield* closeText("completed");
    open ??= yield* openText(type);
    open.text += delta;
    open.logprobs.push(...logprobs);
    const place = { item_id: open.id, output_index: open.index, content_index: 0 };
    if (type === "reasoning") yield write("response.reasoning_text.delta", { ...place, delta });
    else yield write("response.output_text.delta", { ...place, delta, logprobs });
  }
  function* closeText(status: ItemStatus): Generator<string> {
    if (open === undefined) return;
    const { type, id, index, text, logprobs } = open;
    const item = itemOf(open, status);
    open = undefined;
    const place = { item_id: id, output_index: index, content_index: 0 };
    if (type === "reasoning") {
      yield write("response.reasoning_text.done", { ...place, text });
      yield write("response.content_part.done", { ...place, part: reasoningText(text) });
    } else {
      yield write("response.output_text.done", { ...place, text, logprobs });
      yield write("response.content_part.done", { ...place, part: outputText(text, logprobs) });
    }
    yield write("response.output_item.done", { output_index: index, item });
  }
  function* addCall(call: ToolCall): Generator<string> {
    yield* closeText("completed");
    const index = count;
    count += 1;
    const begun = callItem(responseId, index, { ...call, arguments: "", status: "in_progress" });
    const done = callItem(responseId, index, { ...call, status: "completed" });
    const place = { item_id: done.id, output_index: index };
    yield write("response.output_item.added", { output_index: index, item: begun });
    const { name, arguments: text } = call;
    yield write("response.function_call_arguments.delta", { ...place, delta: text });
    yield write("response.function_call_arguments.done", { ...place, name, arguments: text });
    yield write("response.output_item.done", { output_index: index, item: done });
  }
  return {
    *add({ parts, logprobs }: Pick<GenerationChoice, "parts" | "logprobs">): Generator<string> {
      let newLogprobs = tokenLogprobs(logprobs ?? []);
      for (const part of parts) {
        if (part.type === "call") yield* addCall(part.call);
        else if (part.type === "reasoning") yield* addText(part, []);
        else {
          yield* addText(part, newLogprobs);
          newLogprobs = [];
        }
      }
    },
    *finish(status: ItemStatus): Generator<string> {
      if (count === 0) open = yield* openText("text");
      yield* closeText(status);
    },
  };
}
