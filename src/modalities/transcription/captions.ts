import type { TranscriptSegment } from "../../models/speech-recognition/transcription-model.js";

type Cue = Pick<TranscriptSegment, "startSeconds" | "endSeconds" | "text">;

/** SubRip: numbered cues, comma before milliseconds. */
export function formatSrt(segments: readonly Cue[]): string {
  return segments
    .map((segment, index) => {
      const times = `${timestamp(segment.startSeconds, ",")} --> ${timestamp(segment.endSeconds, ",")}`;
      return `${index + 1}\n${times}\n${line(segment.text).replaceAll("-->", "->")}\n\n`;
    })
    .join("");
}

/** WebVTT (W3C, 2019): header, cues, character references for what would be markup. */
export function formatVtt(segments: readonly Cue[]): string {
  const cues = segments.map((segment) => {
    const times = `${timestamp(segment.startSeconds, ".")} --> ${timestamp(segment.endSeconds, ".")}`;
    return `${times}\n${escapeMarkup(line(segment.text))}\n\n`;
  });
  return `WEBVTT\n\n${cues.join("")}`;
}

/** hh:mm:ss and milliseconds; hours grow beyond two digits where they must. */
function timestamp(seconds: number, mark: "," | "."): string {
  const total = Math.max(0, Math.round(seconds * 1_000));
  const pad = (value: number, digits = 2) => `${Math.floor(value)}`.padStart(digits, "0");
  const clock = `${pad(total / 3_600_000)}:${pad((total / 60_000) % 60)}:${pad((total / 1_000) % 60)}`;
  return `${clock}${mark}${pad(total % 1_000, 3)}`;
}

/** One line: an empty one would end the cue. */
function line(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
