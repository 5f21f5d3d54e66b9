import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { createWhisperDecoder, type WhisperDecoder } from "#framemill/models/whisper/decoder.js";
import { openWhisperModel, type WhisperModel } from "#framemill/models/whisper/model.js";
import { decodeAudio } from "#framemill/media/decode-audio.js";
import { SPEECH_RATE_HZ } from "#framemill/media/mel.js";
import { openPcm, type PcmFile } from "#framemill/media/pcm.js";
import { createTranscriptionPipeline } from "#framemill/modalities/transcription/pipeline.js";
import type {
  TranscriptDelta,
  TranscriptionOutput,
  TranscriptionRequest,
} from "#framemill/modalities/transcription/request.js";

const folder = mkdtempSync(join(tmpdir(), "framemill-transcriber-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A folder for the caller alone, removed when the process ends. */
export function ownFolder(): string {
  return mkdtempSync(join(folder, "own-"));
}

/** The samples of a sound file, as the pipeline decodes them. */
export async function openSound(bytes: Uint8Array): Promise<PcmFile> {
  const path = join(ownFolder(), "sound.pcm");
  const { signal } = new AbortController();
  const sound = { path, sampleRateHz: SPEECH_RATE_HZ, maxSeconds: 600, signal, param: "file" };
  await decodeAudio(bytes, sound);
  return openPcm(path);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Opens a Whisper for one use of its decoder. */
export async function withDecoder<T>(
  model: ModelPackage,
  use: (decoder: WhisperDecoder, whisper: WhisperModel) => Promise<T>,
): Promise<T> {
  const whisper = await openWhisperModel(model, { threads: 1 });
  const decoder = createWhisperDecoder(whisper);
  try {
    return await use(decoder, whisper);
  } finally {
    decoder.close();
    await whisper.close();
  }
}

type Events = AsyncIterable<PipelineEvent<TranscriptionOutput>>;

/** The transcription pipeline of one model. */
export interface Transcriber {
  readonly run: (
    bytes: Uint8Array,
    request?: Partial<TranscriptionRequest>,
    signal?: AbortSignal,
  ) => Events;
  readonly close: () => Promise<void>;
}

export async function openTranscriber(modelPath: string): Promise<Transcriber> {
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "none" };
  const pipeline = await createTranscriptionPipeline({ modelPath, threads: 1, ...programs });
  return {
    run: (bytes, request = {}, signal = new AbortController().signal) =>
      transcribe(pipeline, bytes, { request, signal }),
    close: () => pipeline.close(),
  };
}

function transcribe(
  pipeline: Pipeline<TranscriptionRequest, TranscriptionOutput>,
  bytes: Uint8Array,
  asked: { readonly request: Partial<TranscriptionRequest>; readonly signal: AbortSignal },
): Events {
  const audio = { id: "a", variant: "input", mediaType: "audio/wav", byteLength: 1, sha256: "" };
  const request: TranscriptionRequest = {
    model: "whisper",
    audio,
    language: "en",
    prompt: "",
    format: "json",
    temperature: 0,
    granularities: ["segment"],
    logprobs: false,
    stream: false,
    voiceDetection: null,
    ...asked.request,
  };
  const scratchPath = ownFolder();
  return pipeline.run(request, {
    signal: asked.signal,
    scratchPath,
    readInput: async () => bytes,
  });
}

/** What a run ended with, the progress that it reported, and the pieces that it streamed. */
export async function outputOf(events: Events) {
  const all = await collect(events);
  const last = all.at(-1);
  if (last?.type !== "output") throw new Error("the pipeline gave no output");
  const fractions = all.flatMap((it) => (it.type === "progress" ? [it.fraction] : []));
  const deltas = all.flatMap((it) =>
    it.type === "chunk" && it.chunk.type === "json" ? [it.chunk.value as TranscriptDelta] : [],
  );
  return { ...last.output, fractions, deltas };
}
