import type { ByteRange } from "../../storage/index.js";

/** What a `Range` header asks of a file: all of it, a part, or more than there is. */
export type RangeChoice = "whole" | "unsatisfiable" | ByteRange;

/** RFC 9110, 14.2: one range is served, several or malformed ones are answered with the whole file. */
export function chooseRange(header: string | undefined, byteLength: number): RangeChoice {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? "");
  const [first = "", last = ""] = match?.slice(1) ?? [];
  if (first === "" && last === "") return "whole";
  if (first === "") return suffixRange(Number(last), byteLength);
  return plainRange(Number(first), last === "" ? Infinity : Number(last), byteLength);
}

function plainRange(start: number, last: number, byteLength: number): RangeChoice {
  if (last < start) return "whole";
  if (start >= byteLength) return "unsatisfiable";
  return { start, end: Math.min(last, byteLength - 1) };
}

function suffixRange(length: number, byteLength: number): RangeChoice {
  if (length === 0 || byteLength === 0) return "unsatisfiable";
  return { start: Math.max(0, byteLength - length), end: byteLength - 1 };
}
