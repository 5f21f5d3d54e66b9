import type { Span } from "../speech-recognition/speech-spans.js";
import { FRAME_REACH, HOP_SAMPLES } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm-file.js";
import { WINDOW_SAMPLES } from "./sound-regions.js";

/**
 * The 30 s from sample `from` on, silent beyond the region's end, with what surrounds them as the
 * features need it: at the sound's beginning its mirror image, elsewhere what is there.
 */
export async function readWindow(pcm: PcmFile, region: Span, from: number): Promise<Float32Array> {
  const start = from - FRAME_REACH;
  // Whisper drops the last frame, which is centred on the window's end.
  const samples = await pcm.read(start, from + WINDOW_SAMPLES + FRAME_REACH - HOP_SAMPLES);
  samples.fill(0, Math.min(samples.length, region.end - start));
  if (from !== 0) return samples;
  for (let at = 1; at <= FRAME_REACH; at++)
    samples[FRAME_REACH - at] = samples[FRAME_REACH + at] ?? 0;
  return samples;
}
