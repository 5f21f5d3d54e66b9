import type { ClipFormat } from "../../media/encoder.js";
import { i420OfRgb, type RgbFrames } from "../../media/i420.js";
import type { FrameWindow } from "./video-model.js";

/** Which of some decoded frames are new. */
interface NewFrames {
  /** Number in the clip of the first new frame, and its place among the decoded ones. */
  readonly frame: number;
  readonly skipped: number;
}

/** Frames that are handed on at once: whoever encodes them need not wait for all that were decoded. */
const PIECE_FRAMES = 8;

/** The new ones of decoded frames as far as the clip has frames, piece by piece. */
export function* piecesOf(
  decoded: RgbFrames,
  { frame, skipped }: NewFrames,
  format: ClipFormat,
): Generator<FrameWindow> {
  const fresh = Math.min(decoded.frameCount - skipped, format.frameCount - frame);
  for (let done = 0; done < fresh; done += PIECE_FRAMES) {
    const count = Math.min(PIECE_FRAMES, fresh - done);
    const span = { first: skipped + done, count };
    yield { firstFrame: frame + done, count, frames: i420OfRgb(decoded, span, format) };
  }
}
