import { expect, test } from "vitest";
import { compareWithCard, type Metric } from "#framemill/bench/evaluation/evaluation-card.js";

const wordError: Metric = {
  card: 0.08,
  target: 0.1,
  better: "lower",
  slack: 0.01,
  noise: 0.9,
  about: "words",
};

function verdict(measured: number, stated: Partial<Metric> = {}) {
  const [finding] = compareWithCard(
    { metrics: { m: { ...wordError, ...stated } } },
    { m: measured },
  );
  return [finding?.holds, finding?.meets];
}

test("a measurement holds up to its slack beyond the card, and meets its bar apart from that", () => {
  expect(verdict(0.085)).toEqual([true, true]);
  expect(verdict(0.095)).toEqual([false, true]);
  expect(verdict(0.12, { card: 0.2 })).toEqual([true, false]);
  expect(verdict(0.9, { better: "higher", card: 0.95, slack: 0, target: 0.9 })).toEqual([
    false,
    true,
  ]);
});

test("a missed bar says by how much", () => {
  const missed = (measured: number, target?: number) => {
    const metrics = {
      m: { card: 0.5, better: "higher", slack: 0, about: "shares", target } as Metric,
    };
    return compareWithCard({ metrics }, { m: measured })[0]?.missedBy;
  };
  expect(missed(0.75, 1)).toBe(0.25);
  expect(missed(1, 0.75)).toBe(0);
  expect(missed(0.75)).toBeUndefined();
});

test("a number that is none neither holds nor meets", () => {
  expect(verdict(Number.NaN)).toEqual([false, false]);
});

test("a stated number that was not measured is an error", () => {
  expect(() => compareWithCard({ metrics: { m: wordError } }, {})).toThrow(
    "m is stated but was not measured",
  );
});
