import { expect, test } from "vitest";
import { drawWaterfall } from "#framemill/bin/commands/trace.js";

test("a waterfall keeps rows of one name apart, each as long as it took", () => {
  const row = (from: number, to: number) => ({ what: "a<b>", group: "front", from, to });
  const svg = drawWaterfall([row(0, 4), row(1, 2)]);
  expect(svg.match(/>a&lt;b&gt;<\/text>/g)).toHaveLength(2);
  const [whole, part] = [...svg.matchAll(/<rect x="[\d.]+" y="\d+" width="(\d+\.\d)"/g)];
  expect(Number(whole?.[1]) / Number(part?.[1])).toBeCloseTo(4, 1);
  expect(svg).toContain(">3.5</text>");
});
