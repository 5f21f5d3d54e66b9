import { describe, expect, it } from "vitest";
import { checkBody, hashBody, parseJson } from "#framemill/front/bodies.js";

const json = (text: string) => parseJson(Buffer.from(text));

describe("parseJson", () => {
  it("counts brackets, but not those inside strings", () => {
    const text = JSON.stringify({ prompt: `${"[".repeat(100)}\\"[{` });
    expect(json(text)).toEqual(JSON.parse(text));
    expect(json(`${"[".repeat(32)}${"]".repeat(32)}`)).toBeDefined();
    expect(() => json(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow(/nested deeper than 32/);
  });

  it("takes no body for nothing, and refuses what is not JSON", () => {
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
