import { describe, expect, it } from "vitest";
import { checkBody, hashBody, parseJson } from "#framemill/front/http/bodies.js";

const json = (text: string) => parseJson([Buffer.from(text)]);

describe("parseJson", () => {
  it("counts brackets, but not those inside strings", () => {
    const text = JSON.stringify({ prompt: `${"[".repeat(100)}\\"[{` });
    expect(json(text)).toEqual(JSON.parse(text));
    expect(json(`${"[".repeat(32)}${"]".repeat(32)}`)).toBeDefined();
    expect(() => json(`${"[".repeat(65)}${"]".repeat(65)}`)).toThrow(/nested deeper than 64/);
  });

  it("counts values while it scans, and refuses too many with the limit", () => {
    const list = (count: number) => `[${"1,".repeat(count - 2)}1]`;
    expect(json(list(50_000))).toHaveLength(49_999);
    expect(() => json(list(50_001))).toThrow(/at most 50000 values/);
    expect(() => json(`[${"{},".repeat(25_000)}0]`)).toThrow(/at most 50000 values/);
    const fields = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [index, 1]));
    expect(() => json(JSON.stringify(fields))).toThrow(/at most 10000 names of fields/);
    expect(() => parseJson([Buffer.from(list(6))], 5)).toThrow(/at most 5 values/);
    expect(json(JSON.stringify({ prompt: ",[{".repeat(200_000) }))).toBeDefined();
  });

  it("reads an absent body as undefined, and refuses what is not JSON", () => {
    expect(json("")).toBeUndefined();
    for (const text of ["{", "nul", "{'a':1}", '"\\', "\ufeff{}x"]) {
      expect(() => json(text)).toThrow(expect.objectContaining({ code: "invalid_json" }));
    }
  });
});

describe("checkBody", () => {
  it("names the field that holds what cannot be stored", () => {
    expect(() => checkBody({ a: { b: ["fine", "x\0"] } })).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "a.b.1" }),
    );
    expect(() => checkBody(json('{"a":{"__proto__":1}}'))).toThrow(/not allowed/);
    expect(() => checkBody({ "\ud800": 1 })).toThrow(/not allowed/);
    expect(() => checkBody({ a: [{ b: "\0" }] })).toThrow(
      expect.objectContaining({ param: "a.0.b" }),
    );
    checkBody(json('{"constructor":{"prototype":{"toString":1}}}'));
    checkBody({ emoji: "🎬", bytes: new Uint8Array([0, 1]) });
  });
});

describe("hashBody", () => {
  it("does not depend on the order of fields, but on every value and file", () => {
    const file = (bytes: number[]) => ({ filename: "a", bytes: new Uint8Array(bytes) });
    expect(hashBody({ a: 1, b: [1, 2] })).toBe(hashBody({ b: [1, 2], a: 1 }));
    const hashes = [{ a: 1 }, { a: "1" }, { a: [1] }, { a: file([1]) }, { a: file([2]) }, { b: 1 }];
    expect(new Set(hashes.map(hashBody)).size).toBe(hashes.length);
  });
});
