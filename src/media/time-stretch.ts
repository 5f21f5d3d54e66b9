import { runFfmpeg } from "./ffmpeg.js";

export interface TimeStretch {
  /** 2 = twice as fast. */
  readonly tempo: number;
  readonly sampleRateHz: number;
  readonly ffmpegPath: string;
  readonly signal?: AbortSignal;
}

/** Slowest tempo of one atempo filter; above 2 it would drop samples instead of blending them. */
const TEMPO_RANGE = [0.5, 2] as const;

/** Mono samples, float32, at another tempo and the same pitch: ffmpeg's atempo (WSOLA). */
export async function stretchTime(
  samples: Float32Array,
  { tempo, sampleRateHz, ffmpegPath, signal }: TimeStretch,
): Promise<Float32Array> {
  if (Math.abs(tempo - 1) < 1e-3) return samples;
  const raw = ["-f", "f32le", "-ar", String(sampleRateHz), "-ac", "1"];
  const filter = tempoSteps(tempo).map((step) => `atempo=${step.toFixed(6)}`);
  const args = ["-v", "error", "-nostdin", ...raw, "-i", "pipe:0", "-af", filter.join(",")];
  const stdin = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const run = { ffmpegPath, stdin, ...(signal && { signal }) };
  const { stdout } = await runFfmpeg([...args, ...raw, "pipe:1"], run);
  return new Float32Array(new Uint8Array(stdout).buffer);
}

/** Equal factors within the filter's range that multiply to the tempo. */
function tempoSteps(tempo: number): number[] {
  const [slowest, fastest] = TEMPO_RANGE;
  const range = Math.log(tempo < 1 ? slowest : fastest);
  const count = Math.max(1, Math.ceil(Math.log(tempo) / range - 1e-9));
  return Array.from({ length: count }, () => tempo ** (1 / count));
}
