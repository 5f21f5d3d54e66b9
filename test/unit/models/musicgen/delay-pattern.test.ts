import { assert, constantFrom, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import {
  columnCount,
  type DelayPattern,
  frameAt,
  planWindows,
} from "#framemill/models/musicgen/make-codes.js";

const PAD = -1;

/** The reference's mask, as transformers' `build_delay_pattern_mask` makes it: true where a row is padded. */
function referenceMask({ codebooks, channels, frames }: DelayPattern): boolean[][] {
  const perChannel = codebooks / channels;
  const length = frames + perChannel;
  return Array.from({ length: codebooks }, (_, row) => {
    const delay = Math.floor(row / channels);
    return Array.from(
      { length },
      (_column, column) => column <= delay || column > length - perChannel + delay,
    );
  });
}

function rowsOf(pattern: DelayPattern): number[][] {
  return Array.from({ length: pattern.codebooks }, (_, row) =>
    Array.from(
      { length: columnCount(pattern) },
      (_column, column) => frameAt(pattern, row, column) ?? PAD,
    ),
  );
}

test("each codebook starts one column after the one before", () => {
  expect(rowsOf({ codebooks: 4, channels: 1, frames: 3 })).toEqual([
    [PAD, 0, 1, 2, PAD, PAD, PAD],
    [PAD, PAD, 0, 1, 2, PAD, PAD],
    [PAD, PAD, PAD, 0, 1, 2, PAD],
    [PAD, PAD, PAD, PAD, 0, 1, 2],
  ]);
});

test("both channels of a stereo model have the same delays", () => {
  const rows = rowsOf({ codebooks: 8, channels: 2, frames: 5 });
  expect(rows[1]).toEqual(rows[0]);
  expect(rows[7]).toEqual(rows[6]);
  expect(rows[6]).toEqual([PAD, PAD, PAD, PAD, 0, 1, 2, 3, 4]);
});

test("ten seconds of the published model are 503 new columns", () => {
  expect(columnCount({ codebooks: 4, channels: 1, frames: 500 })).toBe(1 + 503);
});

test("pads exactly where the reference's mask does", () => {
  const patterns = record({
    codebooks: constantFrom(4, 8),
    channels: constantFrom(1 as const, 2 as const),
    frames: integer({ min: 1, max: 40 }),
  });
  assert(
    property(patterns, (pattern) => {
      const padded = rowsOf(pattern).map((row) => row.map((frame) => frame === PAD));
      expect(padded).toEqual(referenceMask(pattern));
    }),
    { numRuns: 50 },
  );
});

test("windows cover a piece without a gap, none longer than the model's, each going on from the last", () => {
  const lengths = record({
    total: integer({ min: 1, max: 1_000 }),
    window: integer({ min: 20, max: 500 }),
  });
  assert(
    property(lengths, ({ total, window }) => {
      const overlapFrames = Math.floor(window * 0.4);
      let made = 0;
      for (const { start, frames, known } of planWindows(total, {
        windowFrames: window,
        overlapFrames,
      })) {
        expect(start + known).toBe(made);
        expect(frames).toBeLessThanOrEqual(window);
        expect(frames).toBeGreaterThan(known);
        made = start + frames;
      }
      expect(made).toBe(total);
    }),
    { numRuns: 40 },
  );
});
