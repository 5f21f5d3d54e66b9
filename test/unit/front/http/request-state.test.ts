import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { describe, expect, it } from "vitest";
import { abortOnClose } from "#framemill/front/http/request-state.js";

describe("abortOnClose", () => {
  const start = (closing: AbortSignal) => {
    const raw = new EventEmitter();
    return { raw, signal: abortOnClose({ raw } as unknown as FastifyReply, closing) };
  };

  it("aborts when the caller hangs up, and removes its listeners", () => {
    const closing = new AbortController();
    const { raw, signal } = start(closing.signal);
    raw.emit("close");
    closing.abort();
    expect(signal.reason).toMatchObject({ code: "cancelled" });
  });

  it("asks the caller of a closing server to retry", () => {
    const closing = new AbortController();
    const early = start(closing.signal).signal;
    expect(early.aborted).toBe(false);
    closing.abort();
    for (const signal of [early, start(closing.signal).signal])
      expect(signal.reason).toMatchObject({ code: "service_unavailable", httpStatus: 503 });
  });
});
