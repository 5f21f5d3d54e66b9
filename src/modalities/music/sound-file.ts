import { JobError } from "../../core/errors.js";
import { probeMedia } from "../../media/probe.js";
import type { MusicFormat } from "./request.js";

export interface SoundExpectation {
  readonly format: MusicFormat;
  readonly seconds: number;
  readonly sampleRateHz: number;
  readonly channels: number;
  readonly ffprobePath: string;
  readonly signal: AbortSignal;
}

interface FormatFacts {
  /** As ffprobe names it. */
  readonly codec: string;
  /** Samples of one coded frame: the last one is filled up. */
  readonly frameSamples: number;
  /** Samples the coder adds at the ends, which ffprobe counts and players leave out. */
  readonly paddingSamples?: number;
  /** Rate of every file of the format, Hz; that of the sound where absent. */
  readonly sampleRateHz?: number;
}

const FACTS: Readonly<Record<MusicFormat, FormatFacts>> = {
  // LAME's delay and the least it pads the end by (ENCDELAY and lame_encode_flush of LAME 3.100).
  mp3: { codec: "mp3", frameSamples: 1_152, paddingSamples: 576 + 576 },
  wav: { codec: "pcm_s16le", frameSamples: 1 },
  flac: { codec: "flac", frameSamples: 1 },
  opus: { codec: "opus", frameSamples: 960, sampleRateHz: 48_000 },
};

/** Probes a finished piece. Throws `encoder_failed` with a sentence that names everything that differs. */
export async function verifySound(path: string, expected: SoundExpectation): Promise<void> {
  const facts = FACTS[expected.format];
  const { audio, durationSeconds } = await probeMedia(path, expected);
  const sampleRateHz = facts.sampleRateHz ?? expected.sampleRateHz;
  const frameSeconds = facts.frameSamples / sampleRateHz;
  const excess = durationSeconds - expected.seconds;
  const paddingSeconds = (facts.paddingSamples ?? 0) / sampleRateHz;
  if (audio === undefined) throw new JobError("encoder_failed", "the piece has no sound track");
  const checks = [
    { name: "codec", got: audio.codec, wanted: facts.codec },
    { name: "sample rate", got: audio.sampleRateHz, wanted: sampleRateHz },
    { name: "channels", got: audio.channels, wanted: expected.channels },
  ];
  const differences = checks
    .filter(({ got, wanted }) => got !== wanted)
    .map(({ name, got, wanted }) => `${name} must be ${wanted}, got ${got}`);
  if (excess < -frameSeconds || excess > frameSeconds + paddingSeconds)
    differences.push(`duration must be ${expected.seconds} s, got ${durationSeconds} s`);
  if (differences.length > 0)
    throw new JobError("encoder_failed", `the piece is not as ordered: ${differences.join("; ")}`);
}
