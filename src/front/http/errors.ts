import { type FailureCode, isOutage, JobError } from "../../core/errors.js";
import type { JobFailure } from "../../core/job.js";
import type { ErrorBody } from "./objects.js";

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Codes of the HTTP framework and its plugins that are the caller's fault. */
const BY_STATUS: Readonly<Record<number, FailureCode>> = {
  400: "invalid_value",
  404: "not_found",
  406: "unsupported_media_type",
  408: "request_timeout",
  413: "payload_too_large",
  414: "not_found",
  415: "unsupported_media_type",
};

const SERVER_ERROR = "The server had an error while processing your request.";

/** What callers read of a failure whose own message is for operators: it may name files, hosts and keys. */
const SENTENCES: Readonly<Partial<Record<FailureCode, string>>> = {
  server_error: SERVER_ERROR,
  service_unavailable: "The service is briefly unavailable; try again.",
  store_unavailable: "The service is briefly unavailable; try again.",
  worker_fault: SERVER_ERROR,
  out_of_memory: "The job needed more memory than its worker has.",
  encoder_failed: "The result could not be encoded.",
  invalid_output: "The model computed values that cannot be used.",
  inference_crashed: "The computation ended unexpectedly.",
  inference_stalled: "The computation stood still.",
  device_lost: "The device that computed it failed.",
};

/** An ended job's failure as its caller reads it; operators read the worker's own message. */
export function shownFailure(failure: JobFailure): JobFailure {
  return { ...failure, message: SENTENCES[failure.code] ?? failure.message };
}

export function renderError(error: JobError): ErrorAnswer {
  const { code, message, param, type, httpStatus: status } = error;
  const shown = code === "server_error" ? SERVER_ERROR : message;
  return {
    status,
    headers: errorHeaders(error),
    body: { error: { message: shown, type, param, code } },
  };
}

/** Any value thrown while a request was served, as the failure that its caller reads. */
export function toRequestError(thrown: unknown): JobError {
  if (thrown instanceof JobError) return thrown;
  if (isOutage(thrown)) {
    return new JobError("service_unavailable", "The service is briefly unavailable; try again.", {
      cause: thrown,
    });
  }
  const { statusCode, message } = fieldsOf(thrown);
  const known = statusCode === undefined ? undefined : BY_STATUS[statusCode];
  if (known !== undefined) return new JobError(known, message, { cause: thrown });
  return new JobError("server_error", message, { cause: thrown });
}

/** Rejects for a worker: with an outage as one, so that it calls again, with the rest as it was thrown. */
export async function withOutages<Result>(work: Promise<Result>): Promise<Result> {
  return await work.catch((thrown: unknown) => {
    const error = toRequestError(thrown);
    throw error.code === "service_unavailable" ? error : thrown;
  });
}

const NO_RETRY: ReadonlySet<string> = new Set(["insufficient_quota", "start_deadline_exceeded"]);

/** Clients retry 408, 409 and 429 by themselves; here another attempt cannot help. */
function errorHeaders({ code, httpStatus, retryAfterSeconds }: JobError): Record<string, string> {
  const headers: Record<string, string> = {};
  // What RFC 9110 (section 11.6.1) asks of every 401.
  if (httpStatus === 401) headers["www-authenticate"] = 'Bearer realm="framemill"';
  if (httpStatus === 409 || NO_RETRY.has(code)) headers["x-should-retry"] = "false";
  const mustWait = httpStatus === 429 || httpStatus === 503;
  const seconds = retryAfterSeconds ?? (mustWait ? DEFAULT_RETRY_AFTER_SECONDS : undefined);
  if (seconds !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(seconds)));
  return headers;
}

function fieldsOf(thrown: unknown): { statusCode?: number; message: string } {
  if (typeof thrown !== "object" || thrown === null) return { message: String(thrown) };
  const { statusCode, message } = thrown as { statusCode?: unknown; message?: unknown };
  return {
    ...(typeof statusCode === "number" && { statusCode }),
    message: typeof message === "string" ? message : "unknown error",
  };
}
