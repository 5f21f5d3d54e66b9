import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Job } from "#framemill/core/job.js";
import {
  CONTENT_TYPE,
  CorruptedMessageError,
  decodeJob,
  encodeJob,
  MAX_MESSAGE_BYTES,
  MAX_REQUEST_BYTES,
  MESSAGE_TYPE,
} from "#framemill/queue/message.js";

const format = { contentType: CONTENT_TYPE, type: MESSAGE_TYPE };
const job: Job = {
  id: "video_1",
  modality: "video",
  model: "service-motion-1",
  request: { prompt: "a lighthouse" },
  expiresAtMs: 1_800_000_000_000,
  reportTo: "front-0:8081",
};

describe("encodeJob and decodeJob", () => {
  test("give back any job whose request is JSON", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.option(fc.string({ maxLength: 128 }), { nil: undefined }),
        (request, traceparent) => {
          // JSON has one zero.
          const sent = {
            ...job,
            request: JSON.parse(JSON.stringify(request)),
            ...(traceparent === undefined ? {} : { traceparent }),
          };
          expect(decodeJob(encodeJob(sent), format)).toEqual(sent);
        },
      ),
    );
  });

  test("measure the request in bytes, not characters", () => {
    expect(() => encodeJob({ ...job, request: "é".repeat(MAX_REQUEST_BYTES / 2) })).toThrow(
      `request must be at most ${MAX_REQUEST_BYTES} bytes as JSON, got ${MAX_REQUEST_BYTES + 2}`,
    );
  });

  test("leave room for the longest envelope around the longest request", () => {
    const longest: Job = {
      id: "i".repeat(128),
      modality: "m".repeat(64),
      model: "m".repeat(128),
      request: "x".repeat(MAX_REQUEST_BYTES - 2),
      expiresAtMs: Number.MAX_SAFE_INTEGER,
      reportTo: "r".repeat(512),
      traceparent: "t".repeat(128),
      tenant: "t".repeat(64),
    };
    const body = encodeJob(longest);
    expect(body.byteLength).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    expect(decodeJob(body, format)).toEqual(longest);
  });

  test("refuse to encode what is no job", () => {
    expect(() => encodeJob({ ...job, id: "" })).toThrow(
      expect.objectContaining({ code: "invalid_value" }),
    );
  });

  test.each(["../../elsewhere/precious", "a/b", "a b", "video_1\0", "x".repeat(129)])(
    "refuse the id %j: folders are named by it",
    (id) => {
      const body = Buffer.from(JSON.stringify({ ...job, id }));
      expect(() => decodeJob(body, format)).toThrow(CorruptedMessageError);
    },
  );

  test("drop fields of a newer writer", () => {
    const body = Buffer.from(JSON.stringify({ ...job, priority: 3 }));
    expect(decodeJob(body, format)).toEqual(job);
  });

  test("throw CorruptedMessageError, and nothing else, for any other bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(() => decodeJob(Buffer.from(bytes), format)).toThrow(CorruptedMessageError);
      }),
    );
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(() => decodeJob(Buffer.from(text), format)).toThrow(CorruptedMessageError);
      }),
    );
  });

  test.each([
    ["an unknown version", { ...format, type: "framemill.job.v2" }],
    ["another content type", { ...format, contentType: "text/plain" }],
    ["no properties", {}],
  ])("refuse %s", (_, properties) => {
    expect(() => decodeJob(encodeJob(job), properties)).toThrow(CorruptedMessageError);
  });
});
