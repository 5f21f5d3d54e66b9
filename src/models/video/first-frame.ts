import type { PipelineContext } from "../../core/modality.js";
import { containRgb, coverRgb } from "../../media/image.js";
import type { ClipRequest } from "./video-model.js";

/** RGB uint8 [height, width, 3] of a clip's picture, fitted into a frame of these sides as its request says. */
export type FirstFrame = (height: number, width: number) => Promise<Uint8Array>;

/** Reads the picture that a clip begins with; undefined where its request has none. */
export async function readFirstFrame(
  { image, fit }: ClipRequest,
  context: PipelineContext,
): Promise<FirstFrame | undefined> {
  if (image === null) return undefined;
  const bytes = await context.readInput(image);
  const toFrame = fit === "cover" ? coverRgb : containRgb;
  return (height, width) => toFrame(bytes, width, height);
}
