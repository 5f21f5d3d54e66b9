/** One text a model speaks at once: a sentence, or as much of one as it can take. */
export interface Utterance {
  /** Ids of sounds and marks, as the graph reads them. */
  readonly ids: readonly number[];
  /** Counted without padding. */
  readonly tokenCount: number;
  /** Of the text that it says, where the model's style depends on that. */
  readonly characters?: number;
}

export interface TextToSpeak {
  readonly text: string;
  /** One of the model's, as `findVoice` found it. */
  readonly voice: string;
  /** BCP 47; null = the voice's own. */
  readonly language: string | null;
  readonly signal: AbortSignal;
}

export interface UtteranceSettings {
  readonly voice: string;
  /** One of `speeds`. */
  readonly speed: number;
}

/** The only voice of a model that names none. */
export const SOLE_VOICE = "default";

/** A voice model of one layout: text to ids, ids to sound. */
export interface SpeechModel {
  readonly sampleRateHz: number;
  readonly voices: readonly string[];
  /** What the graph itself can do; the rest is stretched. */
  readonly speeds: SpeedRange;
  /** Empty where nothing of the text can be spoken. */
  prepare(text: TextToSpeak): Promise<readonly Utterance[]>;
  /** What of a text cannot be spoken, in sentences for the caller. */
  notes?(text: Pick<TextToSpeak, "text" | "language">): readonly string[];
  /** Mono, float32, about [-1, 1]. */
  synthesize(utterance: Utterance, settings: UtteranceSettings): Promise<Float32Array>;
  close(): Promise<void>;
}

export interface SpeedRange {
  readonly slowest: number;
  readonly fastest: number;
  /** Only whole speeds: the graph's input is an integer, and rounding would change what was asked. */
  readonly isWhole: boolean;
}

/**
 * A speed as the part that the model does and the tempo that is left for stretching. Models bend
 * durations of whole frames, at least one a sound: far from 1 they would miss the speed.
 */
export function shareSpeed(
  speed: number,
  { slowest, fastest, isWhole }: SpeedRange,
): { readonly speed: number; readonly tempo: number } {
  const bounded = Math.max(slowest, Math.min(fastest, speed));
  const own = isWhole ? Math.floor(bounded) : bounded;
  return { speed: own, tempo: speed / own };
}

/** Names of voices that have none. */
export function numberedVoices(count: number): string[] {
  return Array.from({ length: count }, (_, id) => String(id));
}
