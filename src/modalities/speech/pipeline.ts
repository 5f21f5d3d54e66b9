import { join } from "node:path";
import { z } from "zod";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import { type AudioEncoder, openAudioEncoder, writeAudioFile } from "../../media/audio-encoder.js";
import { stretchTime, throwIfCancelled } from "../../media/ffmpeg.js";
import { openModel } from "../../models/registry.js";
import { shareSpeed, type SpeechModel } from "../../models/speech/speech-model.js";
import { concatFloats } from "../../runtime/tensors/tensor.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { checkSound, finishPiece, splitSentences } from "./pieces.js";
import { countCharacters, findVoice, type SpeechOutput, type SpeechRequest } from "./request.js";
import { invalidValue } from "../shared/request-body.js";

/** The names that the front knows, where the package lists some. */
const listedVoices = z.object({ voices: z.array(z.string()).min(1).optional() });

/** Text → sentences → phonemes → waveform → encoder: a sentence leaves while the next one is made. */
export async function createSpeechPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<SpeechRequest, SpeechOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup);
  const opened = await openModel("speech", model, setup);
  const { voices = opened.voices } = listedVoices.parse(model.shapes);
  const speaker = { ...opened, voices };
  return {
    run: (request, context) => speak({ model: speaker, setup, request, context }),
    close: () => speaker.close(),
  };
}

/**
 * A request as sound: each sentence goes to the encoder while the next one is made, and bytes leave as
 * the encoder gives them.
 */
export async function* speak(task: SpeechTask): AsyncGenerator<PipelineEvent<SpeechOutput>> {
  const stop = new AbortController();
  const signal = AbortSignal.any([task.context.signal, stop.signal]);
  const pieces = speakPieces(task, signal);
  // The first sentence is made before the file is begun: what is wrong with it has a status of its own.
  const first = await pieces.next();
  if (first.done) {
    const message = "input must hold something that can be spoken";
    throw invalidValue("input", message);
  }
  const { model, setup, request } = task;
  const source = { format: request.format, sampleRateHz: model.sampleRateHz, channels: 1 };
  if (request.isWhole === true) {
    yield* writeWhole(task, startingWith(first.value, pieces));
    return;
  }
  const encoder = openAudioEncoder({ ...source, ffmpegPath: setup.ffmpegPath, signal });
  let characters = 0;
  const onPiece = (piece: SpokenPiece) => void (characters += piece.characters);
  const all = startingWith(first.value, pieces);
  const written = writePieces(encoder, all, { sampleRateHz: model.sampleRateHz, onPiece });
  // A piece that fails ends the encoder, and with it the reading below.
  const settled = written.catch(() => stop.abort());
  try {
    for await (const bytes of encoder.bytes)
      yield { type: "chunk", chunk: { type: "bytes", bytes, units: { characters } } };
    yield { type: "output", output: withNotes(task, await written) };
  } catch (thrown) {
    await written;
    throw thrown;
  } finally {
    stop.abort();
    await encoder.abort();
    await settled;
  }
}

/** One file of the whole sound. */
async function* writeWhole(
  task: SpeechTask,
  pieces: AsyncIterable<SpokenPiece>,
): AsyncGenerator<PipelineEvent<SpeechOutput>> {
  const { model, setup, request, context } = task;
  const { sampleRateHz } = model;
  const { format } = request;
  const said: Float32Array[] = [];
  let [samples, inputTokens] = [0, 0];
  for await (const piece of pieces) {
    said.push(piece.samples);
    samples += piece.samples.length;
    inputTokens += piece.tokenCount;
  }
  const path = join(context.scratchPath, `content.${format}`);
  const source = {
    format,
    sampleRateHz,
    channels: 1,
    ffmpegPath: setup.ffmpegPath,
    signal: context.signal,
  };
  await writeAudioFile(path, concatFloats(said), source);
  yield { type: "file", variant: "content", path, mediaType: AUDIO_MEDIA_TYPES[format] };
  const output = { audioSeconds: samples / sampleRateHz, inputTokens };
  yield { type: "output", output: withNotes(task, output) };
}

function withNotes({ model, request }: SpeechTask, output: SpeechOutput): SpeechOutput {
  const notes = model.notes?.({ text: request.input, language: request.language }) ?? [];
  return { ...output, ...(notes.length > 0 && { notes }) };
}

async function writePieces(
  encoder: AudioEncoder,
  pieces: AsyncIterable<SpokenPiece>,
  { sampleRateHz, onPiece }: { sampleRateHz: number; onPiece: (piece: SpokenPiece) => void },
): Promise<SpeechOutput> {
  let [samples, inputTokens] = [0, 0];
  for await (const piece of pieces) {
    onPiece(piece);
    await encoder.write(piece.samples);
    samples += piece.samples.length;
    inputTokens += piece.tokenCount;
  }
  await encoder.finish();
  return { audioSeconds: samples / sampleRateHz, inputTokens };
}

async function* startingWith<T>(first: T, others: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* others;
}

interface SpeechTask {
  readonly model: SpeechModel;
  readonly setup: PipelineSetup;
  readonly request: SpeechRequest;
  readonly context: Pick<PipelineContext, "signal" | "scratchPath">;
}

/** A sentence as it goes to the encoder. */
interface SpokenPiece {
  /** Mono float32 in [-1, 1] at the model's rate, the pause before it included. */
  readonly samples: Float32Array;
  readonly tokenCount: number;
  /** Characters of the text that begin to be heard with it. */
  readonly characters: number;
}

/** Silence before the next piece at speed 1, in milliseconds, beside what models leave at their ends. */
const PAUSES_MS = { clause: 0, sentence: 150, paragraph: 400 } as const;

/** The sentences of a request one by one, spoken, at the speed that was asked for. */
async function* speakPieces(
  task: SpeechTask,
  signal: AbortSignal,
): AsyncGenerator<SpokenPiece, void> {
  const { model, request } = task;
  const { language } = request;
  const voice = findVoice(request.voice, model.voices);
  let pauseMs = 0;
  for (const { text, endsParagraph } of splitSentences(request.input, language ?? "en")) {
    throwIfCancelled(signal);
    const utterances = await model.prepare({ text, voice, language, signal });
    let characters = countCharacters(text);
    for (const utterance of utterances) {
      throwIfCancelled(signal);
      const { speed, tempo } = shareSpeed(request.speed, model.speeds);
      const said = await model.synthesize(utterance, { voice, speed });
      checkSound(said);
      const samples = await stretch(said, { model, setup: task.setup, tempo, signal });
      const joint = { sampleRateHz: model.sampleRateHz, pauseMs, speed: request.speed };
      yield { samples: finishPiece(samples, joint), tokenCount: utterance.tokenCount, characters };
      characters = 0;
      pauseMs = PAUSES_MS.clause;
    }
    if (utterances.length > 0) pauseMs = PAUSES_MS[endsParagraph ? "paragraph" : "sentence"];
  }
}

function stretch(
  samples: Float32Array,
  {
    model,
    setup,
    ...how
  }: Pick<SpeechTask, "model" | "setup"> & { tempo: number; signal: AbortSignal },
): Promise<Float32Array> {
  const { sampleRateHz } = model;
  const { ffmpegPath } = setup;
  return stretchTime(samples, { ...how, sampleRateHz, ffmpegPath });
}
