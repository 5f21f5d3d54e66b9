import { checkedId, checkedPrefix } from "#framemill/storage/artifact-store.js";
import * as fc from "fast-check";
import { normalize } from "node:path";
import { describe, expect, it } from "vitest";

describe("artifact ids", () => {
  it("are what the system makes", () => {
    expect(checkedId("video_0af3/12/content.mp4")).toBe("video_0af3/12/content.mp4");
    expect(checkedPrefix("video_0af3/12/")).toBe("video_0af3/12/");
  });

  it("can never leave the folder they are joined to, whatever the text", () => {
    const piece = fc.constantFrom("..", ".", "/", "a", "\\", "\0", "%2e", "~", "é", " ", "x.mp4");
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join("")),
        (text) => {
          if (!isAccepted(text)) return;
          expect(normalize(text)).toBe(text);
          expect(text).toMatch(/^[\w.-]+(\/[\w.-]+)*$/);
          expect(text.split("/").some((part) => part.startsWith("."))).toBe(false);
        },
      ),
    );
  });
});

function isAccepted(text: string): boolean {
  try {
    return checkedId(text) === text;
  } catch {
    return false;
  }
}
