import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { type FailureCode, JobError } from "#framemill/core/errors.js";
import { fromServiceError, toStatus } from "#framemill/rpc/status.js";

function cross(thrown: unknown) {
  const { code, details, metadata } = toStatus(thrown);
  return fromServiceError(
    Object.assign(new Error(details), { code, details, metadata }) as ServiceError,
  );
}

describe("errors over gRPC", () => {
  test.each<[FailureCode, status]>([
    ["invalid_value", status.INVALID_ARGUMENT],
    ["invalid_api_key", status.UNAUTHENTICATED],
    ["not_found", status.NOT_FOUND],
    ["video_not_ready", status.FAILED_PRECONDITION],
    ["rate_limit_exceeded", status.RESOURCE_EXHAUSTED],
    ["server_error", status.INTERNAL],
    ["service_unavailable", status.UNAVAILABLE],
  ])("%s keeps its code", (code, expected) => {
    const error = new JobError(code, "a sentence", { retryAfterSeconds: 3 });
    expect(toStatus(error).code).toBe(expected);
    expect(cross(error)).toMatchObject({ code, message: "a sentence", retryAfterSeconds: 3 });
  });

  test("an unforeseen error keeps its message to itself", () => {
    expect(cross(new Error("/etc/secret"))).toMatchObject({
      code: "server_error",
      message: "internal error",
    });
  });

  test.each<[status, FailureCode]>([
    [status.UNAVAILABLE, "service_unavailable"],
    [status.DEADLINE_EXCEEDED, "service_unavailable"],
    [status.UNAUTHENTICATED, "invalid_api_key"],
    [status.RESOURCE_EXHAUSTED, "payload_too_large"],
    [status.DATA_LOSS, "server_error"],
  ])("gRPC's own status %i becomes %s", (code, expected) => {
    const error = Object.assign(new Error("x"), { code, details: "x", metadata: new Metadata() });
    expect(fromServiceError(error).code).toBe(expected);
    expect(fromServiceError(error).retryAfterSeconds).toBeUndefined();
  });
});
