import type { PipelineSetup } from "../../core/modality.js";
import { SPEECH_RATE_HZ } from "../../media/mel.js";
import type { PcmFile } from "../../media/pcm.js";
import { type Graphs, KeptValues, openGraphs } from "../../runtime/ort/graphs.js";
import { graphPaths, type ModelPackage } from "../../runtime/packages/model-package.js";
import { float32, floatsOf, int64 } from "../../runtime/tensors/tensor.js";
import { createSpanFinder, joinSpans, type Span, type SpanRules } from "./speech-spans.js";
import type { VoiceDetection } from "./transcription-model.js";

const VOICE_ROLE = "vad";

/** Silence that a stretch may bridge. */
const GAP_SAMPLES = 2 * SPEECH_RATE_HZ;

interface VoiceRegions {
  readonly thread: Graphs;
  readonly detection: VoiceDetection;
  /** What the model hears at once. */
  readonly longestSamples: number;
  readonly signal: AbortSignal;
}

/** The package's voice detector; undefined where it has none. */
export async function openVoiceDetector(
  model: ModelPackage,
  { onRun }: Pick<PipelineSetup, "onRun">,
): Promise<Graphs | undefined> {
  if (model.files[VOICE_ROLE] === undefined) return undefined;
  const graphs = graphPaths(model, [VOICE_ROLE]);
  return await openGraphs({ graphs, threads: 1, providers: ["cpu"] }, onRun);
}

/** Samples of one judgement, 32 ms at 16 kHz, and those before it that newer models want to see. */
const VOICE_WINDOW = 512;
const CONTEXT = 64;
const SAMPLE_RATE = int64(BigInt64Array.of(16_000n), []);
/** Judged at a time: about 4 s. */
const BLOCK_SAMPLES = 128 * VOICE_WINDOW;

/** Stretches of at most `longestSamples` that hold all speech, in order; silence between them is left out. */
export async function* voiceRegions(pcm: PcmFile, voice: VoiceRegions): AsyncGenerator<Span> {
  const joining = { longestSamples: voice.longestSamples, gapSamples: GAP_SAMPLES };
  for await (const { start, end } of joinSpans(voiceSpans(pcm, voice), joining))
    yield { start, end: Math.min(end, pcm.sampleCount) };
}

async function* voiceSpans(pcm: PcmFile, voice: VoiceRegions): AsyncGenerator<Span> {
  const detector = createVoiceDetector(voice.thread, VOICE_ROLE);
  const finder = createSpanFinder(VOICE_WINDOW, spanRules(voice));
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

function spanRules({ detection, longestSamples }: VoiceRegions): SpanRules {
  const { threshold = 0.5, silenceMs = 500, paddingMs = 300 } = detection;
  const samples = (ms: number) => Math.round((ms * SPEECH_RATE_HZ) / 1_000);
  return {
    threshold,
    silenceSamples: samples(silenceMs),
    paddingSamples: samples(paddingMs),
    shortestSamples: samples(250),
    longestSamples,
  };
}

/**
 * Silero's voice activity detector over one recording, window after window.
 * Reads both published forms: `state` [2, 1, 128] with 64 samples of context, and the older `h` and `c`
 * [2, 1, 64] without. The state stays where the graph runs.
 */
export function createVoiceDetector(thread: Graphs, role: string) {
  const inputs = thread.info[role]?.inputs ?? [];
  const isOld = inputs.some(({ name }) => name === "h");
  const states: Record<string, string> = isOld ? { h: "hn", c: "cn" } : { state: "stateN" };
  const width = isOld ? 64 : 128;
  const context = isOld ? 0 : CONTEXT;
  const probability = thread.info[role]?.outputs[0]?.name ?? "output";
  const inputOf = Object.fromEntries(
    Object.entries(states).map(([input, output]) => [output, input]),
  );
  const frame = new Float32Array(context + VOICE_WINDOW);
  const silence = Object.fromEntries(
    Object.keys(states).map((name) => [name, float32(new Float32Array(2 * width), [2, 1, width])]),
  );
  const state = new KeptValues();
  return {
    /** Probability that the next 512 samples at 16 kHz hold speech. */
    async judge(samples: Float32Array): Promise<number> {
      frame.copyWithin(0, VOICE_WINDOW);
      frame.fill(0, context);
      frame.set(samples.subarray(0, VOICE_WINDOW), context);
      const feeds = {
        ...silence,
        ...state.values,
        input: float32(frame.slice(), [1, frame.length]),
        sr: SAMPLE_RATE,
      };
      const targets = { keep: Object.keys(inputOf), fetch: [probability] };
      const { tensors, values } = await thread.step(role, feeds, targets);
      state.put(values, (output) => inputOf[output] ?? output);
      return floatsOf(tensors, probability)[0] ?? 0;
    },
    close: () => state.close(),
  };
}
