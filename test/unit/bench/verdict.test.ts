import { describe, expect, test } from "vitest";
import type { BenchRow } from "#framemill/bench/report/measure.js";
import { closingTable, toMarkdown, verdictOf } from "#framemill/bench/report/report.js";

const row: BenchRow = {
  what: "a clip",
  ours: 3,
  against: 2,
  unit: "s",
  ratio: 1.5,
  target: 1.5,
  noise: 0.05,
};

describe("a verdict", () => {
  test("is met at the limit itself and missed beyond it", () => {
    expect(verdictOf(row)).toBe("meets");
    expect(verdictOf({ ...row, ratio: 1.501 })).toBe("misses");
  });

  test("turns round where higher is better", () => {
    expect(verdictOf({ ...row, ratio: 2, better: "higher" })).toBe("meets");
    expect(verdictOf({ ...row, ratio: 1.4, better: "higher" })).toBe("misses");
  });

  test("says how far apart two runs of the same thing were, where that is more than a twentieth", () => {
    expect(verdictOf({ ...row, noise: 0.12 })).toBe("meets (A/A 12 %)");
    expect(verdictOf({ ...row, ratio: 9, noise: 0.12 })).toBe("misses (A/A 12 %)");
    expect(verdictOf({ ...row, againstNoise: 0.2 })).toBe("meets (A/A 20 %)");
  });

  test("is not given without a target, nor of a ratio that is no number", () => {
    expect(verdictOf({ ...row, target: null })).toBe("");
    expect(verdictOf({ ...row, ratio: Number.NaN })).toBe("misses");
  });
});

describe("the closing table", () => {
  const conditions = { cores: 2, "load average": 0.4 };
  const ends = [
    {
      suite: "video",
      result: {
        suite: "video",
        conditions,
        rows: [row, { ...row, what: "no target", target: null }],
        distributions: [{ what: "denoise", unit: "ms", p50: 1, p90: 2, p99: 3, count: 4 }],
        unmeasured: [{ what: "queue wait", why: "needs a broker" }],
      },
    },
    { suite: "text", failure: "no model\nof that | name" },
  ];

  test("has a line for every target, for what was not measured and for a suite that failed", () => {
    expect(closingTable(ends)).toEqual([
      { suite: "video", target: "a clip", measured: "1.500", limit: "≤ 1.5", verdict: "meets" },
      {
        suite: "video",
        target: "queue wait",
        measured: "",
        limit: "",
        verdict: "not measured: needs a broker",
      },
      {
        suite: "text",
        target: "the whole suite",
        measured: "",
        limit: "",
        verdict: "failed: no model\nof that | name",
      },
    ]);
  });

  test("becomes Markdown whose rows all have as many cells as its heading", () => {
    const text = toMarkdown(ends);
    expect(text).toContain("cores 2 · load average 0.4");
    expect(text).toContain("| denoise | ms | 1 | 2 | 3 | 4 |");
    const cells = (line: string) => line.replaceAll("\\|", "").split("|").length;
    const tables = text.split(/\n\n+/).filter((block) => block.startsWith("|"));
    expect(tables).toHaveLength(3);
    for (const table of tables) {
      const counts = new Set(table.trim().split("\n").map(cells));
      expect(counts.size).toBe(1);
    }
  });
});
