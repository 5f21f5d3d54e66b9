import { Metadata, type ServiceError, status, type StatusObject } from "@grpc/grpc-js";
import { isFailureCode, JobError, toJobError, type FailureCode } from "../core/errors.js";

/** Trailers that carry what a gRPC status cannot. */
const CODE_KEY = "framemill-code";
const RETRY_AFTER_KEY = "framemill-retry-after-seconds";

/** gRPC statuses of the HTTP statuses in the failure table. */
const STATUS_OF_HTTP = new Map<number, status>([
  [400, status.INVALID_ARGUMENT],
  [401, status.UNAUTHENTICATED],
  [404, status.NOT_FOUND],
  [405, status.UNIMPLEMENTED],
  [408, status.CANCELLED],
  [409, status.FAILED_PRECONDITION],
  [410, status.FAILED_PRECONDITION],
  [413, status.INVALID_ARGUMENT],
  [415, status.INVALID_ARGUMENT],
  [416, status.OUT_OF_RANGE],
  [429, status.RESOURCE_EXHAUSTED],
  [503, status.UNAVAILABLE],
]);

/** Failures the network itself reports. */
const CODE_OF_STATUS = new Map<status, FailureCode>([
  [status.UNAVAILABLE, "service_unavailable"],
  [status.DEADLINE_EXCEEDED, "service_unavailable"],
  [status.CANCELLED, "service_unavailable"],
  [status.UNAUTHENTICATED, "invalid_api_key"],
  [status.INVALID_ARGUMENT, "invalid_value"],
  [status.RESOURCE_EXHAUSTED, "payload_too_large"],
]);

/** What a handler threw, as a gRPC status with the failure's code in the trailers. */
export function toStatus(thrown: unknown): Partial<StatusObject> {
  const error = toJobError(thrown);
  const metadata = new Metadata();
  metadata.set(CODE_KEY, error.code);
  if (error.retryAfterSeconds !== undefined)
    metadata.set(RETRY_AFTER_KEY, String(error.retryAfterSeconds));
  const code = STATUS_OF_HTTP.get(error.httpStatus) ?? status.INTERNAL;
  // What nobody foresaw stays inside: its message may name files and hosts.
  const details = thrown instanceof JobError ? error.message : "internal error";
  return { code, details, metadata };
}

/** What a call failed with, as the error the far side threw or the network's nearest word. */
export function fromServiceError(error: ServiceError): JobError {
  const sent = String(error.metadata?.get(CODE_KEY)[0] ?? "");
  const code = isFailureCode(sent) ? sent : (CODE_OF_STATUS.get(error.code) ?? "server_error");
  const seconds = Number(error.metadata?.get(RETRY_AFTER_KEY)[0]);
  return new JobError(code, error.details || error.message, {
    cause: error,
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  });
}
