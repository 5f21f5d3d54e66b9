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
  request,
  createdAtMs,
}: Pick<ResponsesExchange, "id" | "model" | "request" | "createdAtMs">): ResponseState {
  const nothing = { output: null, failure: null, completedAtMs: null };
  return { id, model, request, createdAtMs, status: "in_progress", ...nothing };
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
  const { id, model, request, createdAtMs, startedAtMs, state, output } = job;
  const begun = begin({ id, model, request, createdAtMs });
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
  readonly id: string;
  readonly index: number;
  text: string;
  readonly logprobs: ReturnType<typeof tokenLogprobs>;
}

/** The output items as they come to be. */
function createItems(responseId: string, write: Write) {
  let count = 0;
  let open: OpenText | undefined;

  function* openText(): Generator<string, OpenText> {
    const index = count;
    count += 1;
    const item = messageItem(responseId, index, { content: [], status: "in_progress" });
    yield write("response.output_item.added", { output_index: index, item });
    const place = { item_id: item.id, output_index: index, content_index: 0 };
    yield write("response.content_part.added", { ...place, part: outputText("") });
    return { id: item.id, index, text: "", logprobs: [] };
  }
  function* addText(delta: string, logprobs: ReturnType<typeof tokenLogprobs>): Generator<string> {
    open ??= yield* openText();
    open.text += delta;
    open.logprobs.push(...logprobs);
    const place = { item_id: open.id, output_index: open.index, content_index: 0 };
    yield write("response.output_text.delta", { ...place, delta, logprobs });
  }
  function* closeText(status: ItemStatus): Generator<string> {
    if (open === undefined) return;
    const { id, index, text, logprobs } = open;
    open = undefined;
    const place = { item_id: id, output_index: index, content_index: 0 };
    const part = outputText(text, logprobs);
    yield write("response.output_text.done", { ...place, text, logprobs });
    yield write("response.content_part.done", { ...place, part });
    const item = messageItem(responseId, index, { content: [part], status });
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
        else {
          yield* addText(part.text, newLogprobs);
          newLogprobs = [];
        }
      }
    },
    *finish(status: ItemStatus): Generator<string> {
      if (count === 0) open = yield* openText();
      yield* closeText(status);
    },
  };
}
