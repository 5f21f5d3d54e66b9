import { runFfmpeg } from "./ffmpeg.js";

/** An H.264 encoder of ffmpeg and the settings it runs with. */
export interface VideoEncoder {
  readonly name: "h264_nvenc" | "libx264";
  readonly options: readonly string[];
}

/** Key frame every 48 frames, mostly two seconds: players can seek, and the file hardly grows. */
const GROUP_OF_PICTURES = ["-g", "48"];

const NVENC: VideoEncoder = {
  name: "h264_nvenc",
  options: ["-preset", "p4", "-rc", "vbr", "-cq", "21", "-b:v", "0", ...GROUP_OF_PICTURES],
};

const X264: VideoEncoder = {
  name: "libx264",
  options: ["-preset", "veryfast", "-crf", "20", ...GROUP_OF_PICTURES],
};

const chosen = new Map<string, Promise<VideoEncoder>>();

/**
 * NVENC where it really encodes, else libx264. H100, H200 and A100 list `h264_nvenc` but have no
 * encoder, so a few frames are encoded once a process; call it early to take the probe off the first job.
 */
export function chooseVideoEncoder(ffmpegPath: string): Promise<VideoEncoder> {
  const known = chosen.get(ffmpegPath);
  if (known !== undefined) return known;
  const choice = opens(NVENC, ffmpegPath).then((works) => (works ? NVENC : X264));
  chosen.set(ffmpegPath, choice);
  return choice;
}

async function opens(encoder: VideoEncoder, ffmpegPath: string): Promise<boolean> {
  const source = ["-f", "lavfi", "-i", "color=c=gray:s=640x360:r=24", "-frames:v", "8"];
  const target = [
    "-c:v",
    encoder.name,
    ...encoder.options,
    "-pix_fmt",
    "yuv420p",
    "-f",
    "null",
    "-",
  ];
  try {
    await runFfmpeg(["-v", "error", "-nostdin", ...source, ...target], {
      ffmpegPath,
      timeoutMs: 10_000,
    });
    return true;
  } catch {
    return false;
  }
}
