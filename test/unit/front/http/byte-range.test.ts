import { describe, expect, it } from "vitest";
import { chooseRange } from "#framemill/front/http/byte-range.js";

describe("chooseRange", () => {
  it.each([
    [undefined, 10, "whole"],
    ["bytes=0-", 10, { start: 0, end: 9 }],
    ["bytes=0-0", 10, { start: 0, end: 0 }],
    ["bytes=9-9", 10, { start: 9, end: 9 }],
    ["bytes=-10", 10, { start: 0, end: 9 }],
    ["bytes=-99", 10, { start: 0, end: 9 }],
    ["bytes=5-4", 10, "whole"],
    ["bytes=-", 10, "whole"],
    ["bytes=0-1,3-4", 10, "whole"],
    ["bytes=a-b", 10, "whole"],
    ["bytes=-0", 10, "unsatisfiable"],
    ["bytes=10-", 10, "unsatisfiable"],
    ["bytes=0-", 0, "unsatisfiable"],
    ["bytes=99999999999999999999-", 10, "unsatisfiable"],
  ] as const)("reads %s of %i bytes as %o", (header, byteLength, choice) => {
    expect(chooseRange(header, byteLength)).toEqual(choice);
  });
});
