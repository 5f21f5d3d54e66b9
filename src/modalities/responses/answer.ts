import { type Answer, EVENT_STREAM } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import type {
  GenerationDelta,
  GenerationOutput,
} from "../../models/decoder/request/generation-request.js";
import { openDeltas } from "../shared/generation-answer.js";
import { type ResponseState, toResponse } from "./render.js";
import type { ResponsesRequest } from "./request.js";
import { streamResponse } from "./stream.js";

export type ResponsesExchange = Exchange<ResponsesRequest, GenerationOutput, GenerationDelta>;

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

function begin({ id, model, request, createdAtMs }: ResponsesExchange): ResponseState {
  const nothing = { output: null, failure: null, completedAtMs: null };
  return { id, model, request, createdAtMs, status: "in_progress", ...nothing };
}
