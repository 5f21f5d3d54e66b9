import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import { stretchTime, throwIfCancelled } from "../../media/ffmpeg.js";
import { checkSound, finishPiece } from "./join-speech.js";
import { countCharacters, type SpeechRequest } from "./request.js";
import { splitSentences } from "./sentences.js";
import { shareSpeed, type SpeechModel } from "../../models/speech/speech-model.js";
import { findVoice } from "./voice-names.js";

export interface SpeechTask {
  readonly model: SpeechModel;
  readonly setup: PipelineSetup;
  readonly request: SpeechRequest;
  readonly context: Pick<PipelineContext, "signal">;
}

/** A sentence as it goes to the encoder. */
export interface SpokenPiece {
  /** Mono float32 in [-1, 1] at the model's rate, the pause before it included. */
  readonly samples: Float32Array;
  readonly tokenCount: number;
  /** Characters of the text that begin to be heard with it. */
  readonly characters: number;
}

/** Silence before the next piece at speed 1, in milliseconds, beside what models leave at their ends. */
const PAUSES_MS = { clause: 0, sentence: 150, paragraph: 400 } as const;

/** The sentences of a request one by one, spoken, at the speed that was asked for. */
export async function* speakPieces(task: SpeechTask): AsyncGenerator<SpokenPiece, void> {
  const { model, request } = task;
  const { signal } = task.context;
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
      const samples = await stretch(said, tempo, task);
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
  tempo: number,
  { model, setup, context }: SpeechTask,
): Promise<Float32Array> {
  const { sampleRateHz } = model;
  const { ffmpegPath } = setup;
  return stretchTime(samples, { tempo, sampleRateHz, ffmpegPath, signal: context.signal });
}
