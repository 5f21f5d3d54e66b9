import { describe, expect, it } from "vitest";
import type { Chunk } from "#framemill/core/events.js";
import { createExchanges } from "#framemill/front/exchanges.js";

const JOB = "chatcmpl-1";
const json = (value: unknown): Chunk => ({ type: "json", value });
const report = (token: number, ...chunks: Chunk[]) => ({
  jobId: JOB,
  token,
  fraction: 0,
  stage: "",
  chunks,
});
const HELD = { outcome: "held", cancel: false };
const CANCEL = { outcome: "held", cancel: true };

function start() {
  const exchanges = createExchanges();
  const open = exchanges.open(JOB);
  const reader = open.chunks[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await reader.next();
    return done === true ? "end" : (value as { readonly value?: unknown }).value;
  };
  const take = (token: number, ...values: unknown[]) =>
    exchanges.take(report(token, ...values.map(json)));
  return { exchanges, open, next, take };
}

describe("exchanges", () => {
  it("gives chunks in order, those that came before the end included", async () => {
    const { open, next, take } = start();
    const waiting = next();
    expect(take(1, "a", "b")).toEqual(HELD);
    expect(await waiting).toBe("a");
    take(1, "c");
    open.end();
    expect([await next(), await next(), await next()]).toEqual(["b", "c", "end"]);
  });

  it("knows nothing of jobs that nobody waits for", () => {
    const { exchanges, open, take } = start();
    expect(exchanges.take({ ...report(1), jobId: "chatcmpl-2" })).toBeUndefined();
    open.close();
    expect(take(1, "a")).toBeUndefined();
  });

  it("begins anew with the next attempt while nothing was read", async () => {
    const { next, take } = start();
    take(1, "old");
    expect(take(2, "new")).toEqual(HELD);
    expect(take(1, "late")).toEqual({ outcome: "stale", cancel: false });
    expect(await next()).toBe("new");
  });

  it("fails when an attempt follows one that was read, and tells its worker to stop", async () => {
    const { next, take } = start();
    take(1, "read", "unread");
    expect(await next()).toBe("read");
    expect(take(2, "again")).toEqual(CANCEL);
    await expect(next()).rejects.toMatchObject({ code: "inference_crashed" });
  });

  it("tells the worker to stop once the answer has failed or ended", async () => {
    const { open, next, take } = start();
    take(1, "a");
    open.fail(new Error("first"));
    open.fail(new Error("second"));
    expect(take(1, "b")).toEqual(CANCEL);
    expect(take(2, "b")).toEqual(CANCEL);
    expect(await next()).toBe("a");
    await expect(next()).rejects.toThrow("first");
  });

  it("lets go of a reader who leaves more than 16 MiB unread, JSON counted as its text", async () => {
    const { open, next, take } = start();
    const chunk = "x".repeat(190 * 1024);
    let taken = 0;
    while (take(1, chunk)?.cancel === false) taken += 1;
    expect(taken).toBe(Math.floor((16 * 1024 * 1024) / (chunk.length + 2)));
    expect(open.overrun.aborted).toBe(true);
    // What is unread is not kept either.
    await expect(next()).rejects.toMatchObject({ code: "request_timeout" });
  });

  it("takes any amount of a reader who keeps up", async () => {
    const { exchanges, open } = start();
    const chunk: Chunk = { type: "bytes", bytes: new Uint8Array(1024 * 1024) };
    const reader = open.chunks[Symbol.asyncIterator]();
    for (let index = 0; index < 40; index += 1) {
      expect(exchanges.take(report(1, chunk))).toEqual(HELD);
      await reader.next();
    }
    expect(open.overrun.aborted).toBe(false);
  });
});
