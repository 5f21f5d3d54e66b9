import { describe, expect, test } from "vitest";
import { chooseToken, createTokenRules } from "#framemill/models/whisper/decoding-rules.js";
import { segmentWindow } from "#framemill/models/whisper/transcribe-sound.js";
import type { WhisperSettings } from "#framemill/models/whisper/settings.js";

/** Ten words, the end at 10, steering 11 to 14, times from 15: 0.00 s to 0.20 s. */
const TOKENS = {
  endOfText: 10,
  startOfTranscript: 11,
  startOfPrevious: 12,
  noSpeech: 13,
  noTimestamps: 14,
  firstTimestamp: 15,
  transcribe: 12,
  languages: new Map<string, number>(),
};
const settings: WhisperSettings = {
  tokens: TOKENS,
  melBins: 80,
  heads: 1,
  headSize: 1,
  layers: 1,
  maxTokens: 448,
  suppressed: [3, 11, 12, 13, 14],
  suppressedFirst: [4, 10],
  maxInitialTimestamp: 2,
  alignmentHeads: [[0, 0]],
};

/** Ids that may come after `chosen`, all logits 0 but those given. */
function allowed(chosen: number[], withTimes = true, given: Record<number, number> = {}) {
  const logits = new Float32Array(26);
  for (const [id, value] of Object.entries(given)) logits[Number(id)] = value;
  createTokenRules(settings, withTimes)(logits, chosen);
  return [...logits.keys()].filter((id) => logits[id] !== -Infinity);
}

const WORDS = [0, 1, 2, 4, 5, 6, 7, 8, 9];

describe("the rules of what may be said next", () => {
  test("without times, allow words and the end, but no end at first", () => {
    expect(allowed([], false)).toEqual([0, 1, 2, 5, 6, 7, 8, 9]);
    expect(allowed([0], false)).toEqual([...WORDS, 10]);
  });

  test("begin with a time that is not late", () => {
    expect(allowed([])).toEqual([15, 16, 17]);
  });

  test("let words follow a first time, then later times only", () => {
    expect(allowed([16])).toEqual([...WORDS, 10]);
    expect(allowed([16, 5], true, { 5: 20 })).toEqual([
      ...WORDS,
      10,
      17,
      18,
      19,
      20,
      21,
      22,
      23,
      24,
      25,
    ]);
  });

  test("close a pair with the same or a later time, or the end", () => {
    expect(allowed([16, 5, 20], true, { 10: 20 })).toEqual([10, 20, 21, 22, 23, 24, 25]);
  });

  test("prefer a time when all times together are likelier than any word", () => {
    expect(allowed([16, 5])).toEqual([17, 18, 19, 20, 21, 22, 23, 24, 25]);
  });

  test("end as invalid output where the scores are not numbers", () => {
    const choose = (logits: number[]) => () =>
      chooseToken(Float32Array.from(logits), 0, Math.random);
    expect(choose([0, Number.NaN, 1])).toThrow(expect.objectContaining({ code: "invalid_output" }));
    expect(choose([-Infinity])).toThrow(expect.objectContaining({ code: "invalid_output" }));
  });

  test("draw by tempered probability, and tell the untempered one", () => {
    const logits = Float32Array.of(Math.log(1), Math.log(3), -Infinity);
    expect(chooseToken(logits, 0, () => 0)).toMatchObject({ token: 1 });
    expect(chooseToken(logits, 1, () => 0.24).token).toBe(0);
    expect(chooseToken(logits, 1, () => 0.26).token).toBe(1);
    expect(chooseToken(logits, 0.5, () => 0.11).token).toBe(1);
    expect(chooseToken(logits, 0.5, () => 0.09).logprob).toBeCloseTo(Math.log(0.25), 6);
  });
});

describe("the segments of a window", () => {
  const cut = (...tokens: number[]) => segmentWindow(tokens, TOKENS, 10);
  const spans = ({ segments }: ReturnType<typeof cut>) =>
    segments.map(({ start, end, tokens, offset }) => [start, end, tokens.length, offset]);

  test("are cut at pairs of times; what was cut off is transcribed again", () => {
    const cutOff = cut(15, 1, 17, 17, 2, 19, 19, 3);
    expect(spans(cutOff)).toEqual([
      [0, 2, 3, 0],
      [2, 4, 3, 3],
    ]);
    expect(cutOff.settled).toBe(4);
  });

  test("end with the window after a single last time, or without any pair", () => {
    expect(cut(15, 1, 17, 17, 2, 19)).toMatchObject({ settled: 10 });
    expect(spans(cut(15, 1, 2))).toEqual([[0, 10, 3, 0]]);
    expect(spans(cut(15, 1, 18))).toEqual([[0, 3, 3, 0]]);
    expect(spans(cut(17, 1, 2))).toEqual([[2, 10, 3, 0]]);
    expect(spans(cut(1, 2))).toEqual([[0, 10, 2, 0]]);
  });
});
