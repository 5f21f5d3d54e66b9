import { describe, expect, it } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import { renderError, toRequestError } from "#framemill/front/http/errors.js";
import { formatDuration } from "#framemill/front/http/server.js";

describe("formatDuration", () => {
  it.each([
    [0, "0ms"],
    [12.4, "12ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [59_001, "1m0s"],
    [360_000, "6m0s"],
  ])("writes %d ms as %s", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});

describe("renderError", () => {
  it("marks errors that a retry cannot help", () => {
    const quota = renderError(new JobError("insufficient_quota", "x", { retryAfterSeconds: 90.2 }));
    expect(quota.headers).toEqual({ "x-should-retry": "false", "retry-after": "91" });
    expect(renderError(new JobError("video_failed", "x")).headers["x-should-retry"]).toBe("false");
    expect(renderError(new JobError("service_unavailable", "x")).headers["retry-after"]).toBe("1");
    expect(
      renderError(new JobError("rate_limit_exceeded", "x")).headers["x-should-retry"],
    ).toBeUndefined();
  });

  it("keeps the message of an unforeseen error from the caller", () => {
    const { status, body } = renderError(toRequestError(new Error("password of db is hunter2")));
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain("hunter2");
  });

  it("distinguishes an unreachable database from one that refuses", () => {
    const away = Object.assign(new Error("x"), { code: "ECONNREFUSED" });
    const full = Object.assign(new Error("x"), { code: "53300" });
    const broken = Object.assign(new Error("x"), { code: "23505" });
    expect([away, full, broken].map((error) => toRequestError(error).httpStatus)).toEqual([
      503, 503, 500,
    ]);
  });
});
