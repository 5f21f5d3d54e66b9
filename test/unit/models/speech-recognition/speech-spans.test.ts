import { describe, expect, test } from "vitest";
import {
  createSpanFinder,
  joinSpans,
  type Span,
} from "#framemill/models/speech-recognition/speech-spans.js";

const RULES = {
  threshold: 0.5,
  silenceSamples: 30,
  paddingSamples: 5,
  shortestSamples: 20,
  longestSamples: 110,
};

/** Windows of ten samples with these probabilities. */
function spansOf(...probabilities: number[]): number[][] {
  const finder = createSpanFinder(10, RULES);
  const spans = [...probabilities.map((it) => finder.add(it)), finder.finish()];
  return spans.filter((it) => it !== undefined).map(({ start, end }) => [start, end]);
}

describe("speech spans", () => {
  test("start loud, go on quieter, end with silence and keep some of it", () => {
    expect(spansOf(0, 0, 0.9, 0.4, 0.4, 0, 0, 0, 0)).toEqual([[15, 55]]);
    expect(spansOf(0, 0.4, 0.4, 0.4)).toEqual([]);
  });

  test("bridge short pauses and leave out clicks", () => {
    expect(spansOf(1, 1, 0, 0, 1, 1)).toEqual([[0, 65]]);
    expect(spansOf(0, 0, 1, 0, 0, 0, 0)).toEqual([]);
  });

  test("never overlap, however much is kept around them", () => {
    const finder = createSpanFinder(10, { ...RULES, paddingSamples: 25, silenceSamples: 10 });
    const found = [1, 1, 0, 1, 1, 0].map((it) => finder.add(it)).filter((it) => it !== undefined);
    expect(found).toEqual([
      { start: 0, end: 45 },
      { start: 45, end: 75 },
    ]);
  });

  test("are cut where speech was least likely, when they grow too long", () => {
    const long = [
      ...Array.from({ length: 7 }, () => 1),
      0.6,
      ...Array.from({ length: 9 }, () => 1),
    ];
    expect(spansOf(...long)).toEqual([
      [0, 70],
      [70, 160],
      [160, 175],
    ]);
  });

  test("join while they fit into one window and no long silence parts them", async () => {
    async function* spans(): AsyncGenerator<Span> {
      yield* [
        { start: 10, end: 40 },
        { start: 60, end: 100 },
        { start: 120, end: 130 },
        { start: 161, end: 170 },
      ];
    }
    const rules = { longestSamples: 100, gapSamples: 30 };
    const joined: Span[] = [];
    for await (const span of joinSpans(spans(), rules)) joined.push(span);
    expect(joined).toEqual([
      { start: 10, end: 100 },
      { start: 120, end: 130 },
      { start: 161, end: 170 },
    ]);
  });
});
