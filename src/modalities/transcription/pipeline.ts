import { join } from "node:path";
import { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import { uniformSource } from "../../inference/diffusion/noise.js";
import { graphPaths, loadModelPackage } from "../../inference/model-package.js";
import { openSessions, type SessionThread } from "../../inference/session.js";
import { createWhisperDecoder } from "../../inference/speech-recognition/whisper-decoder.js";
import {
  openWhisper,
  type WhisperModel,
} from "../../inference/speech-recognition/whisper-model.js";
import { decodeAudio } from "../../media/decode-audio.js";
import { createLogMel, type LogMel, SPEECH_RATE_HZ } from "../../media/mel.js";
import { openPcm, type PcmFile } from "../../media/pcm-file.js";
import { MAX_SECONDS, type TranscriptionRequest } from "./request.js";
import { VOICE_ROLE, voiceRegions, WINDOW_SAMPLES } from "./sound-regions.js";
import { type Transcript, type TranscriptDelta, type TranscriptionOutput } from "./transcript.js";
import { type HeardWindow, type SoundTask, transcribeSound } from "./transcribe-sound.js";

/** Tried until one gives plausible text, where the caller left the temperature at 0. */
const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1];
const DECODED_FRACTION = 0.05;

type Event = PipelineEvent<TranscriptionOutput>;

interface Recogniser {
  readonly setup: PipelineSetup;
  readonly modelId: string;
  readonly whisper: WhisperModel;
  readonly voice: SessionThread | undefined;
  readonly logMel: LogMel;
  readonly maxSeconds: number;
}

/** Sound file → samples → windows of speech → features → Whisper, window by window. */
export async function createTranscriptionPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<TranscriptionRequest, TranscriptionOutput>> {
  const recogniser = await openRecogniser(setup);
  return {
    run: (request, context) => transcribe(recogniser, request, context),
    async close() {
      await Promise.all([recogniser.whisper.close(), recogniser.voice?.close()]);
    },
  };
}

async function openRecogniser(setup: PipelineSetup): Promise<Recogniser> {
  const { threads, onRun } = setup;
  const model = await loadModelPackage(setup.modelPath);
  if (model.pipeline !== "whisper")
    throw new Error(
      `${setup.modelPath}/model.json: pipeline must be whisper, got ${model.pipeline}`,
    );
  const whisper = await openWhisper(model, { threads, ...(onRun && { onRun }) });
  const voice = model.files[VOICE_ROLE]
    ? await openSessions(
        { graphs: graphPaths(model, [VOICE_ROLE]), threads: 1, providers: ["cpu"] },
        onRun,
      )
    : undefined;
  return {
    setup,
    modelId: model.id,
    whisper,
    voice,
    logMel: createLogMel(whisper.settings.melBins),
    maxSeconds: model.limits.maxSeconds ?? MAX_SECONDS,
  };
}

async function* transcribe(
  recogniser: Recogniser,
  request: TranscriptionRequest,
  context: PipelineContext,
): AsyncGenerator<Event> {
  checkAgainstModel(request, recogniser);
  yield { type: "progress", stage: "decoding", fraction: 0 };
  const path = join(context.scratchPath, "sound.pcm");
  await decodeAudio(await context.readInput(request.audio), {
    path,
    sampleRateHz: SPEECH_RATE_HZ,
    maxSeconds: recogniser.maxSeconds,
    signal: context.signal,
    param: "file",
    ffmpegPath: recogniser.setup.ffmpegPath,
  });
  const pcm = await openPcm(path);
  try {
    yield* transcribeSamples(recogniser, request, { context, pcm });
  } finally {
    await pcm.close();
  }
}

function checkAgainstModel(request: TranscriptionRequest, { whisper, modelId }: Recogniser): void {
  const { languages } = whisper.settings.tokens;
  const known = languages.size === 0 ? ["en"] : [...languages.keys()];
  if (request.language !== null && !known.includes(request.language)) {
    const message = `language must be one of ${known.join(", ")} for ${modelId}, got "${request.language}"`;
    throw new JobError("invalid_value", message, { param: "language" });
  }
  if (!request.granularities.includes("word") || whisper.crossAttentions.length > 0) return;
  const message = `timestamp_granularities must be segment for ${modelId}, got word: the model was exported without the cross attentions that tell where words are`;
  throw new JobError("invalid_value", message, { param: "timestamp_granularities" });
}

interface Sound {
  readonly context: PipelineContext;
  readonly pcm: PcmFile;
}

async function* transcribeSamples(
  recogniser: Recogniser,
  request: TranscriptionRequest,
  { context, pcm }: Sound,
): AsyncGenerator<Event> {
  const decoder = createWhisperDecoder(recogniser.whisper);
  const heard: HeardWindow[] = [];
  try {
    const task = { ...soundTask(recogniser, request, { context, pcm }), decoder };
    for await (const window of transcribeSound(task)) {
      if (request.stream) yield* deltasOf(window, heard.every(isEmpty), request);
      heard.push(window);
      const share = window.settledSample / pcm.sampleCount;
      const fraction = DECODED_FRACTION + (1 - DECODED_FRACTION) * Math.min(1, share);
      yield { type: "progress", stage: "listening", fraction };
    }
  } finally {
    decoder.close();
  }
  const durationSeconds = pcm.sampleCount / SPEECH_RATE_HZ;
  yield { type: "output", output: { durationSeconds, transcript: toTranscript(heard, request) } };
}

function soundTask(
  recogniser: Recogniser,
  request: TranscriptionRequest,
  { context, pcm }: Sound,
): Omit<SoundTask, "decoder"> {
  const { whisper, voice, logMel } = recogniser;
  const { signal } = context;
  const isLong = pcm.sampleCount > WINDOW_SAMPLES;
  const detection = request.voiceDetection ?? (isLong ? {} : null);
  const hasTimes = ["srt", "vtt", "verbose_json"].includes(request.format);
  return {
    model: whisper,
    logMel,
    pcm,
    regions:
      voice !== undefined && detection !== null
        ? voiceRegions(pcm, { thread: voice, detection, signal })
        : [{ start: 0, end: pcm.sampleCount }],
    language: whisper.settings.tokens.languages.size === 0 ? null : request.language,
    prompt: request.prompt,
    temperatures: request.temperature === 0 ? TEMPERATURES : [request.temperature],
    withTimestamps: isLong || hasTimes,
    withWords: request.granularities.includes("word"),
    // The same sound gives the same text.
    random: uniformSource(0),
    signal,
  };
}

function isEmpty({ segments }: HeardWindow): boolean {
  return segments.length === 0;
}

/** One chunk a window; a window's text is settled, so nothing is ever taken back. */
function* deltasOf(
  { segments, logprobs }: HeardWindow,
  isFirst: boolean,
  request: TranscriptionRequest,
): Generator<Event> {
  if (segments.length === 0) return;
  const text = segments.map((segment) => segment.text).join("");
  const delta = isFirst ? text.trimStart() : text;
  const value: TranscriptDelta = { delta, logprobs: request.logprobs ? logprobs : [] };
  yield { type: "chunk", chunk: { type: "json", value } };
}

function toTranscript(
  heard: readonly HeardWindow[],
  { format, language, logprobs }: TranscriptionRequest,
): Transcript {
  const segments = heard.flatMap((window) => window.segments);
  const hasSegments = format !== "json" && format !== "text";
  return {
    language: heard.find((window) => window.language !== null)?.language ?? language ?? "en",
    text: segments
      .map(({ text }) => text)
      .join("")
      .trim(),
    segments: hasSegments ? segments : [],
    words: heard.flatMap(({ words }) => words),
    logprobs: logprobs ? heard.flatMap((window) => window.logprobs) : [],
  };
}
