import { describe, expect, it } from "vitest";
import { isFailureCode, JobError, resourceCode } from "#framemill/core/errors.js";

describe("resourceCode", () => {
  it.each([
    ["not_found", 404],
    ["not_ready", 409],
    ["failed", 409],
    ["expired", 410],
  ] as const)("makes a code of any object %s, with its status", (suffix, status) => {
    const code = resourceCode("toy", suffix);
    expect([isFailureCode(code), new JobError(code, "x").httpStatus]).toEqual([true, status]);
  });

  it("leaves a code that has a row of its own to that row", () => {
    expect(new JobError("encoder_failed", "x").httpStatus).toBe(500);
  });
});

describe("isFailureCode", () => {
  it.each(["", "toy", "not_ready", "constructor", "toy_lost"])("knows no %j", (code) => {
    expect(isFailureCode(code)).toBe(false);
  });
});
