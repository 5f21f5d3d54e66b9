import { join } from "node:path";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import { writeAudioFile } from "../../media/audio-encoder.js";
import { probeMedia } from "../../media/probe.js";
import type { MusicModel, PieceProgress, Sound } from "../../models/music/music-model.js";
import { openModel } from "../../models/registry.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import type { MusicFormat, MusicOutput, MusicRequest } from "./request.js";

const STAGES = { codes: "steps", sound: "decoding" } as const;
const ENCODING_FRACTION = 0.97;
const CHECKING_FRACTION = 0.99;

interface PieceTask {
  readonly model: MusicModel;
  readonly setup: PipelineSetup;
  readonly request: MusicRequest;
  readonly context: PipelineContext;
}

/** Text encoder → codes step by step → sound → one file of the format ordered. */
export async function createMusicPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<MusicRequest, MusicOutput>> {
  const found = await loadModelPackage(setup.modelPath, setup);
  const model = await openModel("music", found, setup);
  return {
    run: (request, context) => makePiece({ model, setup, request, context }),
    close: () => model.close(),
  };
}

async function* makePiece(task: PieceTask): AsyncGenerator<PipelineEvent<MusicOutput>> {
  const { model, request, context } = task;
  let sound: Sound | undefined;
  yield { type: "progress", stage: STAGES.codes, fraction: 0 };
  for await (const event of model.compose(request, context.signal)) {
    if (event.type === "sound") sound = event.sound;
    else yield toProgress(event, model);
  }
  if (sound === undefined) throw new JobError("invalid_output", "the model made no sound");
  yield* writePiece(task, finishSound(sound));
  const { samples, channels, sampleRateHz } = sound;
  const audioSeconds = samples.length / channels / sampleRateHz;
  yield { type: "output", output: { audioSeconds } };
}

/** The shares of a model's stages turn them into one true progress. */
function toProgress({ part, fraction }: PieceProgress, { stepsFraction }: MusicModel) {
  const steps = stepsFraction * ENCODING_FRACTION;
  const [from, to] = part === "codes" ? [0, steps] : [steps, ENCODING_FRACTION];
  return {
    type: "progress",
    stage: STAGES[part],
    fraction: from + fraction * (to - from),
  } as const;
}

/** Encodes the sound, probes the file and names it. */
async function* writePiece(
  { setup, request, context }: PieceTask,
  { samples, channels, sampleRateHz }: Sound,
): AsyncGenerator<PipelineEvent<MusicOutput>> {
  const { format, seconds } = request;
  const { signal, scratchPath } = context;
  const { ffmpegPath, ffprobePath } = setup;
  const path = join(scratchPath, `content.${format}`);
  yield { type: "progress", stage: "encoding", fraction: ENCODING_FRACTION };
  await writeAudioFile(path, samples, { format, channels, sampleRateHz, ffmpegPath, signal });
  yield { type: "progress", stage: "checking", fraction: CHECKING_FRACTION };
  await verifySound(path, { format, seconds, sampleRateHz, channels, ffprobePath, signal });
  yield { type: "file", variant: "content", path, mediaType: AUDIO_MEDIA_TYPES[format] };
}

/** 1 dB below full scale, so that lossy encoders do not clip (audiocraft `peak_clip_headroom_db`). */
const CEILING = 10 ** (-1 / 20);
/** Too short to be heard as a fade, long enough to end without a click. */
const FADE_IN_SECONDS = 0.005;
const FADE_OUT_SECONDS = 0.03;

/** The same sound with soft ends, and turned down as a whole where its peak passes -1 dBFS. */
export function finishSound(sound: Sound): Sound {
  const samples = Float32Array.from(sound.samples);
  const length = samples.length / sound.channels;
  const fadeIn = FADE_IN_SECONDS * sound.sampleRateHz;
  const fadeOut = FADE_OUT_SECONDS * sound.sampleRateHz;
  const gain = Math.min(1, CEILING / peakOf(samples));
  for (let index = 0; index < samples.length; index++) {
    const time = index % length;
    const ends = Math.min(1, time / fadeIn, (length - 1 - time) / fadeOut);
    samples[index] = (samples[index] ?? 0) * gain * ends;
  }
  return { ...sound, samples };
}

function peakOf(samples: Float32Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}

interface SoundExpectation {
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
  /** Rate of every file of the format, Hz; that of the sound by default. */
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
async function verifySound(path: string, expected: SoundExpectation): Promise<void> {
  const facts = FACTS[expected.format];
  const { audio, durationSeconds } = await probeMedia(path, expected);
  const sampleRateHz = facts.sampleRateHz ?? expected.sampleRateHz;
  const frameSeconds = facts.frameSamples / sampleRateHz;
  const excess = durationSeconds - expected.seconds;
  const paddingSeconds = (facts.paddingSamples ?? 0) / sampleRateHz;
  if (audio === undefined) throw new JobError("encoder_failed", "the piece has no sound track");
  const checks = [
    { name: "codec", got: audio.codec, expect: facts.codec },
    { name: "sample rate", got: audio.sampleRateHz, expect: sampleRateHz },
    { name: "channels", got: audio.channels, expect: expected.channels },
  ];
  const differences = checks
    .filter(({ got, expect }) => got !== expect)
    .map(({ name, got, expect }) => `${name} must be ${expect}, got ${got}`);
  if (excess < -frameSeconds || excess > frameSeconds + paddingSeconds)
    differences.push(`duration must be ${expected.seconds} s, got ${durationSeconds} s`);
  if (differences.length > 0)
    throw new JobError("encoder_failed", `the piece is not as ordered: ${differences.join("; ")}`);
}
