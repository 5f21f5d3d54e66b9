import { join } from "node:path";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { MusicModel, PieceProgress, Sound } from "../../models/music/music-model.js";
import { writeAudioFile } from "../../media/audio-encoder.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { openModel } from "../../models/registry.js";
import { finishSound } from "./finish-sound.js";
import type { MusicOutput, MusicRequest } from "./request.js";
import { verifySound } from "./sound-file.js";

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
  const found = await loadModelPackage(setup.modelPath, setup.providers);
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
