import { describe, expect, test } from "vitest";
import { drawPlot, drawVerdicts } from "#framemill/bench/report/plot.js";

describe("plots", () => {
  test("draw lines with the same labels in one panel, others below it", async () => {
    const line = (name: string, yLabel: string) => ({
      name,
      xLabel: "offered, 1/s",
      yLabel,
      points: [[1, 2] as const, [2, 4] as const],
    });
    const svg = await drawPlot("load", [
      line("p50", "latency, ms"),
      line("p99", "latency, ms"),
      line("within 1 s", "share"),
    ]);
    expect(svg).toMatch(/^<svg /);
    for (const text of ["load", "p50", "p99", "latency, ms", "share"])
      expect(svg).toContain(`>${text}</text>`);
    expect(svg.match(/>offered, 1\/s</g)).toHaveLength(2);
  });

  test("end a bar beyond the limit in the colour of a miss", async () => {
    const row = { what: "a clip", ours: 3, against: 2, unit: "s", ratio: 1.5, noise: null };
    const met = await drawVerdicts([{ ...row, target: 2 }]);
    const missed = await drawVerdicts([{ ...row, target: 1 }]);
    const bar = /aria-roledescription="bar" d="[^"]*" fill="(#\w+)"/;
    expect(bar.exec(met)?.[1]).not.toBe(bar.exec(missed)?.[1]);
    expect(missed).toContain(">a clip</text>");
  });
});
