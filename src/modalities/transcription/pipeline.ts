import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import type { Units } from "../../core/usage.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { decodeAudio } from "../../media/decode-audio.js";
import { SPEECH_RATE_HZ } from "../../media/mel.js";
import { openPcm, type PcmFile } from "../../media/pcm.js";
import { billedSeconds } from "./answer.js";
import { openModel } from "../../models/registry.js";
import type {
  TranscribedWindow,
  TranscriptionModel,
} from "../../models/speech-recognition/transcription-model.js";
import {
  MAX_SECONDS,
  type Transcript,
  type TranscriptDelta,
  type TranscriptionOutput,
  type TranscriptionRequest,
} from "./request.js";
import { invalidValue } from "../shared/request-body.js";

const DECODED_FRACTION = 0.05;

type Event = PipelineEvent<TranscriptionOutput>;

interface Recogniser {
  readonly setup: PipelineSetup;
  readonly model: TranscriptionModel;
}

/** Sound file → samples → windows of speech → features → a model's words, window by window. */
export async function createTranscriptionPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<TranscriptionRequest, TranscriptionOutput>> {
  const found = await loadModelPackage(setup.modelPath, setup);
  const recogniser = { setup, model: await openModel("transcription", found, setup) };
  return {
    run: (request, context) => transcribe(recogniser, request, context),
    close: () => recogniser.model.close(),
  };
}

async function* transcribe(
  recogniser: Recogniser,
  request: TranscriptionRequest,
  context: PipelineContext,
): AsyncGenerator<Event> {
  const { model, setup } = recogniser;
  checkAgainstModel(request, model);
  yield { type: "progress", stage: "decoding", fraction: 0 };
  const path = join(context.scratchPath, "sound.pcm");
  await decodeAudio(await context.readInput(request.audio), {
    path,
    sampleRateHz: SPEECH_RATE_HZ,
    maxSeconds: model.maxSeconds ?? MAX_SECONDS,
    signal: context.signal,
    param: "file",
    ffmpegPath: setup.ffmpegPath,
  });
  const pcm = await openPcm(path);
  try {
    yield* transcribeSamples(model, request, { signal: context.signal, pcm });
  } finally {
    await pcm.close();
  }
}

function checkAgainstModel(request: TranscriptionRequest, model: TranscriptionModel): void {
  const { languages, modelId, whyNoWordTimes } = model;
  if (request.language !== null && !languages.includes(request.language)) {
    const message = `language must be one of ${languages.join(", ")} for ${modelId}, got "${request.language}"`;
    throw invalidValue("language", message);
  }
  if (!request.granularities.includes("word") || whyNoWordTimes === undefined) return;
  const message = `timestamp_granularities must be segment for ${modelId}, got word: ${whyNoWordTimes}`;
  throw invalidValue("timestamp_granularities", message);
}

async function* transcribeSamples(
  model: TranscriptionModel,
  request: TranscriptionRequest,
  sound: { readonly pcm: PcmFile; readonly signal: AbortSignal },
): AsyncGenerator<Event> {
  const { pcm } = sound;
  const windows: TranscribedWindow[] = [];
  const { language, prompt, temperature, voiceDetection } = request;
  const asked = {
    language,
    prompt,
    temperature,
    voiceDetection,
    withTimestamps: hasSegments(request),
    withWords: request.granularities.includes("word"),
  };
  for await (const window of model.transcribe({ ...sound, ...asked })) {
    const seconds = Math.min(window.settledSample, pcm.sampleCount) / SPEECH_RATE_HZ;
    const units = { audioSeconds: billedSeconds(seconds) };
    if (request.stream)
      yield* deltasOf(
        window,
        windows.every(({ segments }) => segments.length === 0),
        { request, units },
      );
    windows.push(window);
    const share = window.settledSample / pcm.sampleCount;
    const fraction = DECODED_FRACTION + (1 - DECODED_FRACTION) * Math.min(1, share);
    yield { type: "progress", stage: "listening", fraction };
  }
  const durationSeconds = pcm.sampleCount / SPEECH_RATE_HZ;
  yield { type: "output", output: { durationSeconds, transcript: toTranscript(windows, request) } };
}

/** One chunk a window; a window's text is settled, so nothing is ever taken back. */
function* deltasOf(
  { segments, logprobs }: TranscribedWindow,
  isFirst: boolean,
  { request, units }: { readonly request: TranscriptionRequest; readonly units: Units },
): Generator<Event> {
  if (segments.length === 0) return;
  const text = segments.map((segment) => segment.text).join("");
  const delta = isFirst ? text.trimStart() : text;
  const value: TranscriptDelta = { delta, logprobs: request.logprobs ? logprobs : [] };
  yield { type: "chunk", chunk: { type: "json", value, units } };
}

/** Whether the answer says when its segments begin and end. */
function hasSegments({ format }: TranscriptionRequest): boolean {
  return format !== "json" && format !== "text";
}

function toTranscript(
  windows: readonly TranscribedWindow[],
  request: TranscriptionRequest,
): Transcript {
  const { language, logprobs } = request;
  const segments = windows.flatMap((window) => window.segments);
  return {
    language: windows.find((window) => window.language !== null)?.language ?? language ?? "en",
    text: segments
      .map(({ text }) => text)
      .join("")
      .trim(),
    segments: hasSegments(request) ? segments : [],
    words: windows.flatMap(({ words }) => words),
    logprobs: logprobs ? windows.flatMap((window) => window.logprobs) : [],
  };
}
