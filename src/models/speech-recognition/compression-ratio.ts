import { deflateSync } from "node:zlib";

/** Bytes of a text over their deflated length: repetition makes it great. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.byteLength / deflateSync(bytes).byteLength;
}
