import type { FastifyReply, FastifyRequest } from "fastify";
import { JobError } from "../../core/errors.js";
import { isTraceparent, type Span } from "../../core/tracing.js";
import type { Caller } from "../ledger/index.js";
import type { Allowances } from "./limits.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until the key was checked. */
    caller: Caller | null;
    allowances: Allowances;
    /** Parameters of its body that change nothing. */
    ignoredParameters: readonly string[];
    /** Monotonic milliseconds. */
    startedAtMs: number;
    /** Null where nothing is traced. */
    span: Span | null;
  }
  interface FastifyContextConfig {
    /** Refused while the project's tokens of the minute are used up. */
    spendsTokens?: boolean;
    /** Most values of a JSON body; 50 000 by default. */
    maxBodyValues?: number;
    /** Long JSON is left as its bytes. */
    keepsLongBody?: boolean;
  }
}

/** Who sent a request to a route that needs a key. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller !== null) return request.caller;
  throw new JobError("invalid_api_key", "Incorrect API key provided.");
}

/** W3C trace context of what is done for a request: its span's, or as the caller sent it. */
export function traceparentOf({ span, headers }: FastifyRequest): string | null {
  const own = span?.traceparent ?? headers["traceparent"];
  return isTraceparent(own) ? own : null;
}

/** Aborts when the client has gone or the server closes, whichever comes first. */
export function abortOnClose(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const close = (): void =>
    controller.abort(
      new JobError("service_unavailable", "The server is being replaced; try again."),
    );
  if (closing.aborted) close();
  closing.addEventListener("abort", close, { once: true });
  reply.raw.once("close", () => {
    closing.removeEventListener("abort", close);
    controller.abort(new JobError("cancelled", "the caller has gone"));
  });
  return controller.signal;
}
