import { describe, expect, test } from "vitest";
import { alignTokens, groupWords, warpRows } from "#framemill/models/whisper/word-times.js";

describe("words", () => {
  test("are groups of tokens between spaces, with their punctuation", () => {
    const pieces = [" well", "-", "known", " don", "'t", ",", " “", "yes", ".”"];
    const decode = (ids: readonly number[]) => ids.map((id) => pieces[id]).join("");
    const words = groupWords([...pieces.keys()], decode, "en");
    expect(words.map(({ text }) => text)).toEqual([" well-known", " don't,", " “yes.”"]);
    expect(words.map(({ first, end }) => [first, end])).toEqual([
      [0, 3],
      [3, 6],
      [6, 9],
    ]);
  });

  test("are characters where there are no spaces, whole ones though tokens split them", () => {
    const bytes = Buffer.from("你好。");
    const decode = (ids: readonly number[]) =>
      Buffer.from(ids.map((at) => bytes[at] ?? 0)).toString();
    const words = groupWords([...bytes.keys()], decode, "zh");
    expect(words).toEqual([
      { text: "你", first: 0, end: 3 },
      { text: "好。", first: 3, end: 9 },
    ]);
  });

  test("take the monotonic path that collects most", () => {
    const scores = Float32Array.of(9, 1, 0, 0, 0, 9, 9, 0, 0, 0, 0, 9);
    expect([...warpRows(scores, 3, 4)]).toEqual([0, 1, 3]);
  });

  test("begin where the decoder starts to look at them", () => {
    // Token t looks at frames 10 t to 10 t + 9, in one of two heads; the other looks nowhere.
    const [tokens, frames] = [6, 80];
    const weights = new Float32Array(2 * tokens * frames).fill(1 / frames);
    for (let token = 0; token < tokens; token++)
      for (let frame = 10 * token; frame < 10 * token + 10; frame++)
        weights[(tokens + token) * frames + frame] = 0.1;
    const layers = [{ weights, heads: 2, frames }];
    const starts = alignTokens({ layers, heads: [[0, 1]], first: 1, end: 6, frames: 60 });
    expect([...starts]).toEqual([0, 20, 30, 40, 50]);
  });
});
