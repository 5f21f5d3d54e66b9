import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StopMatcher } from "#framemill/models/decoder/choice.js";

/** Feeds the text in pieces; what was let out, and the stop. */
function feed(stops: readonly string[], pieces: readonly string[]) {
  const matcher = new StopMatcher(stops);
  const out: string[] = [];
  for (const piece of pieces) {
    const { text, stopText } = matcher.push(piece);
    out.push(text);
    if (stopText !== undefined) return { out, text: out.join(""), stopText };
  }
  return { out, text: [...out, matcher.flush()].join("") };
}

describe("stop texts", () => {
  test("never let the beginning of a stop out", () => {
    expect(feed(["\nUser:"], ["Hi", "\nUs", "er", ": you"])).toEqual({
      out: ["Hi", "", "", ""],
      text: "Hi",
      stopText: "\nUser:",
    });
  });

  test("let text out that turned out to be none", () => {
    expect(feed(["END"], ["E", "N", "ough"]).out).toEqual(["", "", "ENough"]);
    expect(feed(["END"], ["the EN"]).text).toBe("the EN");
  });

  test("find a stop that begins within a false start", () => {
    expect(feed(["aab"], ["aa", "ab", "c"])).toMatchObject({ text: "a", stopText: "aab" });
  });

  test("cut at the same place however the text was cut into tokens", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
    const stop = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(text, fc.array(stop, { minLength: 1, maxLength: 3 }), (whole, stops) => {
        expect(feed(stops, Array.from(whole))).toMatchObject({ text: feed(stops, [whole]).text });
      }),
    );
  });
});
