import { JobError } from "../../core/errors.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { floatsOf, int64 } from "../../runtime/tensors/tensor.js";
import type { Codes, PieceProgress, Sound } from "../music/music-model.js";
import type { MusicgenSettings } from "./settings.js";

export interface DecodePlan {
  readonly settings: MusicgenSettings;
  readonly codes: Codes;
  readonly signal: AbortSignal;
  /** Frames decoded in one run besides their surroundings; default 500, ten seconds of MusicGen. */
  readonly chunkFrames?: number;
  /** Frames decoded on either side of a chunk and thrown away; default 50. */
  readonly contextFrames?: number;
}

/**
 * Sound of the codes. Long pieces go chunk by chunk, so that memory does not
 * grow with their length; each chunk is decoded with its surroundings, and one frame at each seam is
 * faded from the chunk before into the chunk after.
 */
export async function* decodeCodes(
  sessions: Graphs,
  plan: DecodePlan,
): AsyncGenerator<PieceProgress, Sound> {
  const { settings, codes, signal, chunkFrames = 500, contextFrames = 50 } = plan;
  const { channels, frameSamples, sampleRateHz } = settings;
  const length = codes.frames * frameSamples;
  const samples = new Float32Array(channels * length);
  for (let start = 0; start < codes.frames; start += chunkFrames) {
    const end = Math.min(start + chunkFrames, codes.frames);
    const from = Math.max(0, start - contextFrames);
    const to = Math.min(codes.frames, end + contextFrames);
    for (let channel = 0; channel < channels; channel++) {
      signal.throwIfAborted();
      const piece = await decodePiece(sessions, { settings, codes, channel, from, to });
      const target = samples.subarray(channel * length, (channel + 1) * length);
      const fadeSamples = start === 0 ? 0 : Math.min(frameSamples, piece.length);
      paste(target, piece, {
        at: from * frameSamples,
        start: start * frameSamples,
        // One frame beyond the chunk, for the next one to fade in over.
        end: Math.min(end + 1, to) * frameSamples,
        fadeSamples,
      });
    }
    yield { type: "progress", part: "sound", fraction: end / codes.frames };
  }
  return { samples, channels, sampleRateHz };
}

interface Piece {
  readonly settings: MusicgenSettings;
  readonly codes: Codes;
  readonly channel: number;
  readonly from: number;
  readonly to: number;
}

/** Decodes frames `from` to `to` of one channel, whose codebooks are every `channels`-th row. */
async function decodePiece(sessions: Graphs, piece: Piece): Promise<Float32Array> {
  const { settings, codes, channel, from, to } = piece;
  const { channels, codebooks, frameSamples } = settings;
  const rows = codebooks / channels;
  const count = to - from;
  const ids = new BigInt64Array(rows * count);
  for (let row = 0; row < rows; row++) {
    const offset = (row * channels + channel) * codes.frames + from;
    for (let frame = 0; frame < count; frame++)
      ids[row * count + frame] = BigInt(codes.values[offset + frame] ?? 0);
  }
  const audioCodes = int64(ids, [1, 1, rows, count]);
  const outputs = await sessions.run("audio-decoder", { audio_codes: audioCodes });
  const values = floatsOf(outputs, "audio_values");
  if (values.length !== count * frameSamples)
    throw new JobError(
      "invalid_output",
      `${count} frames must become ${count * frameSamples} samples, became ${values.length}`,
    );
  if (!values.every(Number.isFinite))
    throw new JobError("invalid_output", "the audio decoder produced samples that are not numbers");
  return values;
}

interface Placement {
  /** Where the piece begins in the target. */
  readonly at: number;
  /** What is taken of it. */
  readonly start: number;
  readonly end: number;
  /** Samples after `start` that still hold the end of the chunk before. */
  readonly fadeSamples: number;
}

function paste(
  target: Float32Array,
  piece: Float32Array,
  { at, start, end, fadeSamples }: Placement,
): void {
  for (let index = 0; index < end - start; index++) {
    const weight = index < fadeSamples ? (index + 0.5) / fadeSamples : 1;
    const before = target[start + index] ?? 0;
    target[start + index] = before + weight * ((piece[start - at + index] ?? 0) - before);
  }
}
