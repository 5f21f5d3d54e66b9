import { describe, expect, test } from "vitest";
import { JobError, toJobError } from "#framemill/core/errors.js";
import { canTransition, isEndState, type JobState } from "#framemill/core/job.js";

const STATES: readonly JobState[] = ["queued", "in_progress", "completed", "failed"];

describe("a job's states", () => {
  test("only move up, and nothing follows an end", () => {
    const moves = STATES.flatMap((from) =>
      STATES.filter((to) => canTransition(from, to)).map((to) => `${from} → ${to}`),
    );
    expect(moves).toEqual([
      "queued → in_progress",
      "queued → failed",
      "in_progress → completed",
      "in_progress → failed",
    ]);
    expect(STATES.filter(isEndState)).toEqual(["completed", "failed"]);
  });
});

describe("a failure", () => {
  test("that nobody foresaw is a retryable server_error and keeps its cause", () => {
    const cause = new TypeError("x is not a function");
    expect(toJobError(cause)).toMatchObject({
      code: "server_error",
      httpStatus: 500,
      disposition: "retry",
      cause,
    });
  });

  test("of the caller is never retried", () => {
    const error = new JobError("invalid_value", "seconds must be 4 to 10, got 12", {
      param: "seconds",
    });
    expect(error).toMatchObject({ httpStatus: 400, disposition: "ack", param: "seconds" });
  });
});
