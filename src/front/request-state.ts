import type { FastifyReply, FastifyRequest } from "fastify";
import { JobError } from "../core/errors.js";
import type { Caller } from "./keys.js";
import type { Allowances } from "./limits.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until the key was checked. */
    caller: Caller | null;
    allowances: Allowances;
    /** Monotonic milliseconds. */
    startedAtMs: number;
  }
  interface FastifyContextConfig {
    /** Refused while the project's tokens of the minute are used up. */
    spendsTokens?: boolean;
  }
}

/** Who sent a request to a route that needs a key. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller !== null) return request.caller;
  throw new JobError("invalid_api_key", "Incorrect API key provided.");
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
