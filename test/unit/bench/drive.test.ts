import { describe, expect, test } from "vitest";
import { closedLoop, openLoop, Refused } from "#framemill/bench/suites/drive.js";

const never = new AbortController().signal;

describe("an open loop", () => {
  test("counts a request from when it was due, though it was sent late", async () => {
    // The first request holds this process for longer than the gap to the second.
    const busyMs = 60;
    const send = async (index: number) => {
      if (index > 0) return;
      const until = performance.now() + busyMs;
      while (performance.now() < until);
    };
    const { outcomes } = await openLoop(send, [0, 5], never);
    expect(outcomes).toHaveLength(2);
    expect(outcomes[1]?.latencyMs).toBeGreaterThanOrEqual(busyMs - 10);
  });

  test("tells what was refused from what failed and from what had not ended in time", async () => {
    const end = new AbortController();
    const send = async (index: number, signal: AbortSignal) => {
      if (index === 0) throw new Error("broken");
      if (index === 1) throw new Refused("full");
      if (index === 2) return;
      end.abort();
      signal.throwIfAborted();
    };
    const { outcomes } = await openLoop(send, [0, 1, 2, 3], end.signal);
    expect(outcomes.map((outcome) => outcome.end)).toEqual([
      "failed",
      "refused",
      "answered",
      "unended",
    ]);
    expect(outcomes.map(({ reason }) => reason).slice(0, 3)).toEqual(["broken", "full", undefined]);
  });
});

describe("a closed loop", () => {
  test("never has more requests under way than clients, and ends at its count", async () => {
    let open = 0;
    let most = 0;
    const send = async () => {
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
    };
    const loop = { clients: 3, count: 20, windowMs: 60_000 };
    const { outcomes } = await closedLoop(send, loop, never);
    expect(outcomes).toHaveLength(20);
    expect(most).toBe(3);
  });
});
