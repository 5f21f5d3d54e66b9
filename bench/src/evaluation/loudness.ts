import { JobError } from "../../../src/core/errors.js";
import { ownFileInput, runFfmpeg } from "../../../src/media/ffmpeg.js";

/** Loudness of a whole file after EBU R 128. */
export interface Loudness {
  /** LUFS; -70 is silence. */
  readonly integratedLufs: number;
  /** Loudness range, LU. */
  readonly rangeLu: number;
  /** dBTP; -Infinity is digital silence. */
  readonly truePeakDb: number;
}

/** Measures the first sound track of a file this system made with ffmpeg's ebur128 filter. */
export async function measureLoudness(path: string, ffmpegPath = "ffmpeg"): Promise<Loudness> {
  const filter = ["-map", "0:a:0", "-af", "ebur128=peak=true:framelog=verbose", "-f", "null", "-"];
  const args = [
    "-hide_banner",
    "-nostats",
    "-nostdin",
    "-v",
    "info",
    ...ownFileInput(path),
    ...filter,
  ];
  const { stderr } = await runFfmpeg(args, { ffmpegPath });
  const summary = stderr.slice(stderr.lastIndexOf("Summary:"));
  return {
    integratedLufs: readNumber(summary, /\bI:\s+(\S+) LUFS/),
    rangeLu: readNumber(summary, /\bLRA:\s+(\S+) LU/),
    truePeakDb: readNumber(summary, /\bPeak:\s+(\S+) dBFS/),
  };
}

function readNumber(summary: string, pattern: RegExp): number {
  const text = pattern.exec(summary)?.[1];
  if (text === undefined)
    throw new JobError("invalid_output", "ffmpeg's ebur128 printed no summary");
  return text === "-inf" ? Number.NEGATIVE_INFINITY : Number(text);
}
