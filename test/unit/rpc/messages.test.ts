import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeClaimResponse,
  decodeCompleteRequest,
  decodeFailResponse,
  decodeHeartbeatResponse,
  decodeRecordResponse,
  decodeReportRequest,
} from "#framemill/rpc/messages.js";

const lease = { jobId: "video_1", token: "7" };

describe("answers of a front", () => {
  test.each([
    ["CLAIM_OUTCOME_UNSPECIFIED", decodeClaimResponse],
    ["LEASE_OUTCOME_UNSPECIFIED", decodeHeartbeatResponse],
    ["RECORD_OUTCOME_UNSPECIFIED", decodeRecordResponse],
    ["FAIL_OUTCOME_UNSPECIFIED", decodeFailResponse],
  ])("%s is an error, never a permission", (outcome, decode) => {
    const answer = {
      outcome,
      lease: null,
      checkpoint: null,
      retryAfterMs: 0,
      leaseMs: 0,
      cancel: false,
      drain: false,
    };
    expect(() => decode(answer, "video_1")).toThrow(
      expect.objectContaining({ code: "server_error" }),
    );
    expect(() => decode({ ...answer, outcome: 99 }, "video_1")).toThrow(/unknown outcome 99/);
  });

  test("a lease without a lease is an error", () => {
    const answer = {
      outcome: "CLAIM_OUTCOME_LEASED",
      lease: null,
      checkpoint: null,
      retryAfterMs: 0,
    };
    expect(() => decodeClaimResponse(answer, "video_1")).toThrow(/without a lease/);
  });

  test("a token above 2^53 is an error, not a rounded number", () => {
    const wide = { token: "9007199254740993", attempt: 1, leaseMs: 1, prices: {} };
    const answer = {
      outcome: "CLAIM_OUTCOME_LEASED",
      lease: wide,
      checkpoint: null,
      retryAfterMs: 0,
    };
    expect(() => decodeClaimResponse(answer, "video_1")).toThrow(/2\^53/);
  });
});

describe("requests of a worker", () => {
  test("a report without chunks has none", () => {
    const wire = { lease, sequence: "1", fraction: 0.5, stage: "steps", chunks: [] };
    expect(decodeReportRequest(wire)).toEqual({
      report: { jobId: "video_1", token: 7, fraction: 0.5, stage: "steps" },
      sequence: 1,
    });
  });

  test.each([-0.01, 1.01, Number.NaN, Number.POSITIVE_INFINITY])(
    "fraction %d is refused",
    (fraction) => {
      const wire = { lease, sequence: "1", fraction, stage: "steps", chunks: [] };
      expect(() => decodeReportRequest(wire)).toThrow(
        expect.objectContaining({ code: "invalid_value" }),
      );
    },
  );

  test("anything at all is decoded or refused as invalid_value", () => {
    fc.assert(
      fc.property(fc.anything(), (wire) => {
        expect(() => decodeCompleteRequest(wire)).toThrow(
          expect.objectContaining({ code: "invalid_value" }),
        );
      }),
    );
  });
});
