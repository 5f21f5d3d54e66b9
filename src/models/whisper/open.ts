import type { PipelineSetup } from "../../core/modality.js";
import { uniformSource } from "../sampling/noise.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { createWhisperDecoder } from "./decoder.js";
import { openWhisperModel, type WhisperModel } from "./model.js";
import { createLogMel, type LogMel } from "../../media/mel.js";
import type {
  TranscribedWindow,
  TranscriptionInput,
  TranscriptionModel,
} from "../speech-recognition/transcription-model.js";
import { openVoiceDetector, voiceRegions } from "../speech-recognition/voice-detection.js";
import { type SoundTask, transcribeSound, WINDOW_SAMPLES } from "./transcribe-sound.js";

/** Tried until one gives plausible text, where the caller left the temperature at 0. */
const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1];

const NO_CROSS_ATTENTIONS =
  "the model was exported without the cross attentions that tell where words are";

interface Whisper {
  readonly model: WhisperModel;
  readonly voice: Graphs | undefined;
  readonly logMel: LogMel;
}

/** Whisper, with its voice detector where the package has one. */
export async function openWhisper(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const opened = await openWhisperModel(model, setup);
  const voice = await openVoiceDetector(model, setup);
  const whisper = { model: opened, voice, logMel: createLogMel(opened.settings.melBins) };
  const { languages } = opened.settings.tokens;
  return {
    modelId: model.id,
    languages: languages.size === 0 ? ["en"] : [...languages.keys()],
    whyNoWordTimes: opened.crossAttentions.length > 0 ? undefined : NO_CROSS_ATTENTIONS,
    maxSeconds: model.limits.maxSeconds,
    transcribe: (sound) => transcribe(whisper, sound),
    async close() {
      await Promise.all([opened.close(), voice?.close()]);
    },
  };
}

async function* transcribe(
  whisper: Whisper,
  sound: TranscriptionInput,
): AsyncGenerator<TranscribedWindow> {
  const decoder = createWhisperDecoder(whisper.model);
  try {
    yield* transcribeSound({ ...soundTask(whisper, sound), decoder });
  } finally {
    decoder.close();
  }
}

function soundTask(
  { model, voice, logMel }: Whisper,
  sound: TranscriptionInput,
): Omit<SoundTask, "decoder"> {
  const { pcm, prompt, temperature, withWords, signal } = sound;
  const isLong = pcm.sampleCount > WINDOW_SAMPLES;
  const detection = sound.voiceDetection ?? (isLong ? {} : null);
  return {
    model,
    logMel,
    pcm,
    regions:
      voice !== undefined && detection !== null
        ? voiceRegions(pcm, { thread: voice, detection, longestSamples: WINDOW_SAMPLES, signal })
        : [{ start: 0, end: pcm.sampleCount }],
    language: model.settings.tokens.languages.size === 0 ? null : sound.language,
    prompt,
    temperatures: temperature === 0 ? TEMPERATURES : [temperature],
    withTimestamps: isLong || sound.withTimestamps,
    withWords,
    // The same sound gives the same text.
    random: uniformSource(0),
    signal,
  };
}
