import { runFfmpeg } from "../../../src/media/ffmpeg.js";
import { mean } from "./text-cases.js";
import type { EvaluationContext } from "./evaluator.js";

/** What the probe sees of a clip: six small frames at these shares of its length. */
export const SEEN = {
  height: 144,
  width: 256,
  shares: [0.02, 0.21, 0.4, 0.6, 0.79, 0.98],
} as const;

/** The shown frames of a clip, RGB in 0..1 [6, 3, 144, 256]. */
export async function readSeenFrames(
  path: string,
  context: EvaluationContext,
): Promise<Float32Array> {
  const { height, width, shares } = SEEN;
  const scale = `scale=${width}:${height}:flags=area`;
  const bytes = await decode(path, [scale, "format=rgb24"], context);
  const size = height * width * 3;
  const count = Math.floor(bytes.length / size);
  const seen = new Float32Array(shares.length * size);
  for (const [index, share] of shares.entries()) {
    const from = Math.min(count - 1, Math.round(share * count)) * size;
    for (let at = 0; at < size; at++) {
      // From [row, column, colour] to [colour, row, column].
      const to = (at % 3) * height * width + Math.floor(at / 3);
      seen[index * size + to] = (bytes[from + at] ?? 0) / 255;
    }
  }
  return seen;
}

/** Mean change of luma between neighbouring frames in the upper quarter of a clip, of 255. */
export async function measureFlicker(path: string, context: EvaluationContext): Promise<number> {
  const bytes = await decode(path, ["crop=iw:ih/4:0:0", "format=gray"], context);
  const size = 1280 * 180;
  const changes: number[] = [];
  for (let frame = size; frame + size <= bytes.length; frame += size) {
    let total = 0;
    for (let at = frame; at < frame + size; at++) {
      total += Math.abs((bytes[at] ?? 0) - (bytes[at - size] ?? 0));
    }
    changes.push(total / size);
  }
  return mean(changes);
}

async function decode(
  path: string,
  filters: readonly string[],
  { ffmpegPath, signal }: EvaluationContext,
): Promise<Uint8Array> {
  const args = ["-v", "error", "-i", path, "-vf", filters.join(), "-f", "rawvideo", "-"];
  const limits = { timeoutMs: 120_000, stdoutLimitBytes: 128 * 1024 * 1024 };
  return (await runFfmpeg(args, { ffmpegPath, signal, ...limits })).stdout;
}
