import { describe, expect, it } from "vitest";
import { groupCommit } from "#framemill/core/async/group-commit.js";

/** Runs that end when the test says, and what each was asked. */
function start(most: number) {
  const runs: (readonly string[])[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const call = groupCommit(async (items: readonly string[]) => {
    runs.push(items);
    await new Promise<void>((resolve, reject) =>
      ends.push((error) => (error === undefined ? resolve() : reject(error))),
    );
    return items.map((item) => item.toUpperCase());
  }, most);
  const end = async (index: number, error?: Error) => {
    ends[index]?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { runs, call, end };
}

describe("the batch of concurrent calls (group commit)", () => {
  it("runs a lone call at once, and all that arrive meanwhile as one batch, in order", async () => {
    const { runs, call, end } = start(2);
    const answers = Promise.all(["a", "b", "c", "d"].map(call));
    expect(runs).toEqual([["a"]]);
    await end(0);
    await end(1);
    await end(2);
    expect(runs).toEqual([["a"], ["b", "c"], ["d"]]);
    expect(await answers).toEqual(["A", "B", "C", "D"]);
  });

  it("fails only the call that is at fault", async () => {
    const { runs, call, end } = start(9);
    const answers = Promise.allSettled(["a", "bad", "c"].map(call));
    await end(0);
    await end(1, new Error("bad among them"));
    expect(runs.slice(2)).toEqual([["bad"], ["c"]]);
    await end(2, new Error("bad"));
    await end(3);
    expect((await answers).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("fails the whole batch in an outage, without retries", async () => {
    const { runs, call, end } = start(9);
    const answers = Promise.allSettled(["a", "b", "c"].map(call));
    await end(0);
    await end(1, Object.assign(new Error("gone"), { code: "ECONNREFUSED" }));
    expect((await answers).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    expect(runs).toEqual([["a"], ["b", "c"]]);
  });
});
