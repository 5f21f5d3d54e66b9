import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Refused, type Send } from "#framemill/bench/suites/drive.js";
import { benchLoad, type LoadKind, planOf } from "#framemill/bench/suites/load-levels.js";

/** In windows of some milliseconds. */
function kindOf(send: Send): LoadKind {
  return {
    name: "jobs",
    send,
    settle: async () => {},
    waitsMs: async () => [],
    objectiveSeconds: 0.05,
    closed: { clients: [2], windowMs: 20 },
    open: { rates: [1], windowMs: 20 },
    graceMs: 100,
  };
}

function measure(send: Send) {
  const onLevel = () => {};
  return benchLoad({ kinds: [kindOf(send)], parts: "none", seed: 1, onLevel });
}

describe("a run of load", () => {
  test("counts what is refused, fails or does not end, and goes on", async () => {
    const ways: Send[] = [
      async () => {},
      () => Promise.reject(new Refused("full")),
      () => Promise.reject(new Error("broken")),
      (_index, signal) => sleep(60_000, undefined, { signal }),
    ];
    let sent = 0;
    // The first warms up; the closed loop then answers all, the open one does not.
    const send: Send = async (index, signal) => {
      sent += 1;
      if (isClosed) await nextTurn();
      else await ways[index % ways.length]?.(index, signal);
    };
    let isClosed = true;
    const { counts = [], unmeasured } = await benchLoad({
      // Long enough for each way, also where the loop turns a few hundred times a second.
      kinds: [{ ...kindOf(send), open: { rates: [0.5], windowMs: 60 } }],
      parts: "none",
      seed: 1,
      onLevel: (name) => (isClosed = name.includes("client")),
    });
    const [closed, open] = counts;
    expect(closed).toMatchObject({ refused: 0, failed: 0, "not ended": 0 });
    const of = (column: string) => Number(open?.[column]);
    expect(Math.min(of("answered"), of("refused"), of("failed"), of("not ended"))).toBeGreaterThan(
      0,
    );
    expect(of("answered") + of("refused") + of("failed") + of("not ended")).toBe(of("sent"));
    expect(sent).toBe(1 + Number(closed?.["sent"]) + of("sent"));
    expect(unmeasured?.map(({ why }) => why)).toEqual(["failed: broken"]);
  });

  test("says what it could not measure where a service answers nothing", async () => {
    const { counts, unmeasured = [] } = await measure(() => Promise.reject(new Refused("full")));
    expect(counts).toHaveLength(1);
    expect(unmeasured).toEqual([
      { what: "jobs, open loop", why: "no request of the closed loop was answered" },
    ]);
  });

  test("lets what it gave up count among the slowest, and not as good", async () => {
    const { rows, distributions = [] } = await measure((_index, signal) =>
      sleep(60_000, undefined, { signal }),
    );
    expect(rows.map(({ ours }) => ours)).toEqual([0, 0]);
    expect(distributions[0]?.p50).toBeGreaterThanOrEqual(100);
  });

  test("says before it begins how long it takes at most", async () => {
    const kind = kindOf((_index, signal) => sleep(60_000, undefined, { signal }));
    expect(planOf([kind])).toEqual({ levels: 2, mostMs: 2 * 120 });
  });
});
