import { describe, expect, it } from "vitest";
import { closingTable } from "../../scripts/verdicts.mjs";

const verdict = (promise: string, holds = true) => ({
  promise,
  injected: "3 kills",
  counted: "lost 0",
  holds,
});

describe("the closing table of a chaos run", () => {
  it("has a row a verdict, in the order of the promises", () => {
    const { table, isGood } = closingTable([verdict("T10"), verdict("T2")], ["T2", "T10"]);
    expect(table).toBe(
      "promise  injected  counted  verdict\nT2       3 kills   lost 0   holds\nT10      3 kills   lost 0   holds",
    );
    expect(isGood).toBe(true);
  });

  it("is bad with one broken promise", () => {
    const { table, isGood } = closingTable([verdict("T1"), verdict("T1", false)], ["T1"]);
    expect(table).toContain("BROKEN");
    expect(isGood).toBe(false);
  });

  it("is bad where a promise that should have been tried was not, or none was", () => {
    expect(closingTable([verdict("T1")], ["T1", "T2"])).toMatchObject({
      table: expect.stringMatching(/^T2 +MISSING$/m),
      isGood: false,
    });
    expect(closingTable([], []).isGood).toBe(false);
  });
});
