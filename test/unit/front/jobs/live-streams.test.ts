import { describe, expect, it } from "vitest";
import type { Chunk } from "#framemill/core/events.js";
import { createLiveStreams } from "#framemill/front/jobs/live-streams.js";

const JOB = "chatcmpl-1";
const json = (value: unknown): Chunk => ({ type: "json", value });
const report = (token: number, ...chunks: Chunk[]) => ({
  jobId: JOB,
  token,
  fraction: 0,
  stage: "",
  chunks,
});
const LEASE_MS = 30_000;
const STALE = { outcome: "stale", cancel: false };
const HELD = { outcome: "held", cancel: false };
const CANCEL = { outcome: "held", cancel: true };

/** A ledger whose job is leased to this claim; `asked` are those it was asked for. */
function start() {
  const clock = { nowMs: 0 };
  const ledger = { token: 1, asked: [] as number[] };
  const findLease = async ({ token }: { readonly token: number }) => {
    ledger.asked.push(token);
    return token === ledger.token ? LEASE_MS : undefined;
  };
  const streams = createLiveStreams({ findLease, now: () => clock.nowMs });
  const open = streams.open(JOB);
  const reader = open.chunks[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await reader.next();
    return done === true ? "end" : (value as { readonly value?: unknown }).value;
  };
  const take = (token: number, ...values: unknown[]) =>
    streams.take(report(token, ...values.map(json)));
  return { streams, open, next, take, ledger, clock };
}

describe("live streams", () => {
  it("gives chunks in order, those that came before the end included", async () => {
    const { open, next, take } = start();
    const waiting = next();
    expect(await take(1, "a", "b")).toEqual(HELD);
    expect(await waiting).toBe("a");
    await take(1, "c");
    open.end();
    expect([await next(), await next(), await next()]).toEqual(["b", "c", "end"]);
  });

  it("ignores jobs that no caller waits for", () => {
    const { streams, open, take } = start();
    expect(streams.take({ ...report(1), jobId: "chatcmpl-2" })).toBeUndefined();
    open.close();
    expect(take(1, "a")).toBeUndefined();
  });

  it("restarts with the next attempt while nothing was read", async () => {
    const { next, take, ledger } = start();
    await take(1, "old");
    ledger.token = 2;
    expect(await take(2, "new")).toEqual(HELD);
    expect(await take(1, "late")).toEqual(STALE);
    expect(await next()).toBe("new");
  });

  it("fails when an attempt follows one that was partly read, and stops its worker", async () => {
    const { next, take, ledger } = start();
    await take(1, "read", "unread");
    expect(await next()).toBe("read");
    ledger.token = 2;
    expect(await take(2, "again")).toEqual(CANCEL);
    await expect(next()).rejects.toMatchObject({ code: "inference_crashed" });
  });

  it("stops the worker once the answer has failed or ended", async () => {
    const { open, next, take } = start();
    await take(1, "a");
    open.fail(new Error("first"));
    open.fail(new Error("second"));
    expect(await take(1, "b")).toEqual(CANCEL);
    expect(await take(2, "b")).toEqual(CANCEL);
    expect(await next()).toBe("a");
    await expect(next()).rejects.toThrow("first");
  });

  it("drops a reader who leaves more than 16 MiB unread, JSON counted as its text", async () => {
    const { open, next, take } = start();
    const chunk = "x".repeat(190 * 1024);
    let taken = 0;
    while ((await take(1, chunk))?.cancel === false) taken += 1;
    expect(taken).toBe(Math.floor((16 * 1024 * 1024) / (chunk.length + 2)));
    expect(open.overrun.aborted).toBe(true);
    // What is unread is not kept either.
    await expect(next()).rejects.toMatchObject({ code: "request_timeout" });
  });

  it("streams any amount to a reader who keeps up", async () => {
    const { streams, open } = start();
    const chunk: Chunk = { type: "bytes", bytes: new Uint8Array(1024 * 1024) };
    const reader = open.chunks[Symbol.asyncIterator]();
    for (let index = 0; index < 40; index += 1) {
      expect(await streams.take(report(1, chunk))).toEqual(HELD);
      await reader.next();
    }
    expect(open.overrun.aborted).toBe(false);
  });

  it("accepts chunks only under a claim that the ledger confirms, asked once an attempt", async () => {
    const { next, take, ledger } = start();
    expect(await take(2, "forged")).toEqual(STALE);
    expect(await take(1, "true")).toEqual(HELD);
    expect(await take(1, " words")).toEqual(HELD);
    expect(ledger.asked).toEqual([2, 1]);
    expect([await next(), await next()]).toEqual(["true", " words"]);
  });

  it("trusts a lease that was taken or renewed here, and asks again once it has lapsed", async () => {
    const { streams, take, ledger, clock } = start();
    streams.hold({ jobId: JOB, token: 1 }, LEASE_MS);
    clock.nowMs = LEASE_MS - 1;
    expect(await take(1, "a")).toEqual(HELD);
    streams.hold({ jobId: JOB, token: 1 }, LEASE_MS);
    clock.nowMs += LEASE_MS - 1;
    expect(await take(1, "b")).toEqual(HELD);
    expect(ledger.asked).toEqual([]);
    clock.nowMs += 1;
    ledger.token = 0;
    expect(await take(1, "late")).toEqual(STALE);
    expect(ledger.asked).toEqual([1]);
  });

  it("refuses chunks of an attempt once another has the lease, even while that one is silent", async () => {
    const { streams, take, ledger } = start();
    expect(await take(1, "a")).toEqual(HELD);
    streams.hold({ jobId: JOB, token: 2 }, LEASE_MS);
    expect(await take(1, "late")).toEqual(STALE);
    expect(ledger.asked).toEqual([1]);
  });
});
