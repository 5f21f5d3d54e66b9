import { describe, expect, test } from "vitest";
import { formatSrt, formatVtt } from "#framemill/modalities/transcription/answer.js";

const SEGMENTS = [
  { startSeconds: 0, endSeconds: 2.5, text: " Fish & chips." },
  { startSeconds: 3_661.0204, endSeconds: 3_662, text: " a --> b\n\nc <i>" },
];

describe("captions", () => {
  test("SubRip numbers its cues and lets no text end or fake one", () => {
    expect(formatSrt(SEGMENTS)).toBe(
      "1\n00:00:00,000 --> 00:00:02,500\nFish & chips.\n\n" +
        "2\n01:01:01,020 --> 01:01:02,000\na -> b c <i>\n\n",
    );
  });

  test("WebVTT has its header and escapes what would be markup", () => {
    expect(formatVtt(SEGMENTS)).toBe(
      "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nFish &amp; chips.\n\n" +
        "01:01:01.020 --> 01:01:02.000\na --&gt; b c &lt;i&gt;\n\n",
    );
  });

  test("a sound in which nobody speaks has no cues", () => {
    expect(formatSrt([])).toBe("");
    expect(formatVtt([])).toBe("WEBVTT\n\n");
  });
});
