import type { SessionThread } from "../../runtime/ort/session.js";
import {
  createSpanFinder,
  joinSpans,
  type Span,
  type SpanRules,
} from "../speech-recognition/speech-spans.js";
import { createVoiceDetector, VOICE_WINDOW } from "../speech-recognition/voice-activity.js";
import { SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm-file.js";
import type { VoiceDetection } from "../speech-recognition/listener.js";

/** What Whisper hears at once: 30 s. */
export const WINDOW_SAMPLES = 30 * SPEECH_RATE_HZ;

export const VOICE_ROLE = "vad";

const JOINING = { longestSamples: WINDOW_SAMPLES, gapSamples: 2 * SPEECH_RATE_HZ };

export interface VoiceRegions {
  readonly thread: SessionThread;
  readonly detection: VoiceDetection;
  readonly signal: AbortSignal;
}

/** Judged at a time: about 4 s. */
const BLOCK_SAMPLES = 128 * VOICE_WINDOW;

/** Stretches of at most a window that hold all speech, in order; silence between them is left out. */
export async function* voiceRegions(pcm: PcmFile, voice: VoiceRegions): AsyncGenerator<Span> {
  for await (const { start, end } of joinSpans(voiceSpans(pcm, voice), JOINING))
    yield { start, end: Math.min(end, pcm.sampleCount) };
}

async function* voiceSpans(pcm: PcmFile, voice: VoiceRegions): AsyncGenerator<Span> {
  const detector = createVoiceDetector(voice.thread, VOICE_ROLE);
  const finder = createSpanFinder(VOICE_WINDOW, spanRules(voice.detection));
  try {
    for (let from = 0; from < pcm.sampleCount; from += BLOCK_SAMPLES) {
      const end = Math.min(from + BLOCK_SAMPLES, pcm.sampleCount);
      const samples = await pcm.read(from, end);
      for (let at = 0; at < samples.length; at += VOICE_WINDOW) {
        voice.signal.throwIfAborted();
        const span = finder.add(await detector.judge(samples.subarray(at, at + VOICE_WINDOW)));
        if (span !== undefined) yield span;
      }
    }
    const last = finder.finish();
    if (last !== undefined) yield last;
  } finally {
    detector.close();
  }
}

function spanRules({
  threshold = 0.5,
  silenceMs = 500,
  paddingMs = 300,
}: VoiceDetection): SpanRules {
  const samples = (ms: number) => Math.round((ms * SPEECH_RATE_HZ) / 1_000);
  return {
    threshold,
    silenceSamples: samples(silenceMs),
    paddingSamples: samples(paddingMs),
    shortestSamples: samples(250),
    longestSamples: WINDOW_SAMPLES,
  };
}
