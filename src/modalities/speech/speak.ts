import { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import { type AudioEncoder, openAudioEncoder } from "../../media/audio-encoder.js";
import type { SpeechOutput } from "./request.js";
import { speakPieces, type SpeechTask, type SpokenPiece } from "./speak-pieces.js";
import type { SpeechModel } from "../../models/speech/speech-model.js";

/**
 * A request as sound: each sentence goes to the encoder while the next one is made, and bytes leave as
 * the encoder gives them.
 */
export async function* speak(task: SpeechTask): AsyncGenerator<PipelineEvent<SpeechOutput>> {
  const stop = new AbortController();
  const signal = AbortSignal.any([task.context.signal, stop.signal]);
  const pieces = speakPieces({ ...task, context: { signal } });
  // The first sentence is made before the file is begun: what is wrong with it has a status of its own.
  const first = await pieces.next();
  if (first.done) {
    const message = "input must hold something that can be spoken";
    throw new JobError("invalid_value", message, { param: "input" });
  }
  const { model, setup, request } = task;
  const source = { format: request.format, sampleRateHz: model.sampleRateHz, channels: 1 };
  const encoder = openAudioEncoder({ ...source, ffmpegPath: setup.ffmpegPath, signal });
  let characters = 0;
  const onPiece = (piece: SpokenPiece) => void (characters += piece.characters);
  const written = writePieces(encoder, first.value, pieces, onPiece);
  // A piece that fails ends the encoder, and with it the reading below.
  const settled = written.catch(() => stop.abort());
  try {
    for await (const bytes of encoder.bytes)
      yield { type: "chunk", chunk: { type: "bytes", bytes, units: { characters } } };
    yield { type: "output", output: outputOf(await written, model) };
  } catch (thrown) {
    await written;
    throw thrown;
  } finally {
    stop.abort();
    await encoder.abort();
    await settled;
  }
}

interface Tally {
  readonly samples: number;
  readonly tokens: number;
}

async function writePieces(
  encoder: AudioEncoder,
  first: SpokenPiece,
  others: AsyncIterable<SpokenPiece>,
  onPiece: (piece: SpokenPiece) => void,
): Promise<Tally> {
  onPiece(first);
  await encoder.write(first.samples);
  let samples = first.samples.length;
  let tokens = first.tokenCount;
  for await (const piece of others) {
    onPiece(piece);
    await encoder.write(piece.samples);
    samples += piece.samples.length;
    tokens += piece.tokenCount;
  }
  await encoder.finish();
  return { samples, tokens };
}

function outputOf({ samples, tokens }: Tally, { sampleRateHz }: SpeechModel): SpeechOutput {
  return { audioSeconds: samples / sampleRateHz, inputTokens: tokens };
}
