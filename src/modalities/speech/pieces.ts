import { JobError } from "../../core/errors.js";

/** A sentence of a text, and what follows it. */
interface Sentence {
  readonly text: string;
  readonly endsParagraph: boolean;
}

/** Below this a sentence goes with the next one: models say single words badly. */
const MIN_CHARACTERS = 12;

/** Full stops that do not end a sentence; also single letters, as in J. R. Smith. */
const ABBREVIATION =
  /(?:^|[\s("'“‘])(?:mr|mrs|ms|dr|prof|st|sr|jr|rev|gen|col|lt|sgt|capt|no|nos|vs|etc|e\.g|i\.e|cf|al|fig|figs|vol|pp?|approx|dept|est|inc|ltd|bzw|z\.b|d\.h|nr|mme|mlle|sra?|[a-z]|(?:[a-z]\.)+[a-z])\.\s*$/i;

/**
 * Sentences in reading order, whitespace made single. A blank line ends a paragraph; a line break ends
 * a sentence unless the next line goes on in small letters, as wrapped text does.
 */
export function splitSentences(text: string, language: string): Sentence[] {
  const segmenter = new Intl.Segmenter(supportedLocale(language), { granularity: "sentence" });
  const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== "");
  return paragraphs.flatMap((paragraph) => {
    const flowing = paragraph.replaceAll(/[^\S\n]*\n\s*(?=\p{Ll})/gu, " ").trim();
    const segments = Array.from(segmenter.segment(flowing), ({ segment }) => segment);
    const sentences = joinSegments(segments);
    return sentences.map((sentence, index) => ({
      text: sentence,
      endsParagraph: index === sentences.length - 1,
    }));
  });
}

function joinSegments(segments: readonly string[]): string[] {
  const sentences: string[] = [];
  let open = "";
  for (const segment of segments) {
    open += segment;
    const text = open.replaceAll(/\s+/g, " ").trim();
    const isCut = ABBREVIATION.test(open) || text.length < MIN_CHARACTERS;
    if (isCut && !open.endsWith("\n")) continue;
    if (text !== "") sentences.push(text);
    open = "";
  }
  const rest = open.replaceAll(/\s+/g, " ").trim();
  if (rest === "") return sentences;
  // A short end joins what was said before it.
  if (rest.length >= MIN_CHARACTERS || sentences.length === 0) return [...sentences, rest];
  return [...sentences.slice(0, -1), `${sentences.at(-1)} ${rest}`];
}

function supportedLocale(language: string): string {
  try {
    return Intl.Segmenter.supportedLocalesOf(language)[0] ?? "en";
  } catch {
    return "en";
  }
}

interface Joint {
  readonly sampleRateHz: number;
  /** Silence before the piece at speed 1; 0 for the first. */
  readonly pauseMs: number;
  /** Silences shrink as words do. */
  readonly speed: number;
}

/** Long enough to hide a step, too short to hear. */
const FADE_MS = 5;
/** Below this share of the peak (-46 dB) a model says nothing. */
const SILENCE = 0.005;
/** Kept of a model's own silence before and behind a piece at speed 1, in milliseconds. */
const LEAD_MS = 40;
const TAIL_MS = 100;
/** Peaks above are scaled down to it: clipping is heard, 0.1 dB is not. */
const HIGHEST_PEAK = 0.99;

/**
 * A spoken piece ready to be put behind another: below full scale, its silent ends made even, faded in
 * and out, the pause before it. Mono float32.
 */
export function finishPiece(samples: Float32Array, joint: Joint): Float32Array {
  const peak = samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  const toSamples = (ms: number) => Math.round((ms * joint.sampleRateHz) / 1_000);
  const silence = (ms: number) => toSamples(ms / joint.speed);
  const isLoud = (sample: number) => Math.abs(sample) > SILENCE * peak;
  const first = Math.max(0, samples.findIndex(isLoud) - silence(LEAD_MS));
  const last = Math.min(samples.length, samples.findLastIndex(isLoud) + 1 + silence(TAIL_MS));
  const spoken = peak === 0 ? samples : samples.subarray(first, last);
  const pause = silence(joint.pauseMs);
  const piece = new Float32Array(pause + spoken.length);
  const gain = peak > HIGHEST_PEAK ? HIGHEST_PEAK / peak : 1;
  piece.set(gain === 1 ? spoken : spoken.map((sample) => sample * gain), pause);
  fadeEnds(piece.subarray(pause), toSamples(FADE_MS));
  return piece;
}

/** Throws `invalid_output` for a waveform that is empty or holds what is not a number. */
export function checkSound(samples: Float32Array): void {
  if (samples.length === 0) throw new JobError("invalid_output", "the model made no sound");
  const wrong = samples.findIndex((sample) => !Number.isFinite(sample));
  if (wrong < 0) return;
  const message = `the waveform must hold numbers, sample ${wrong} is ${samples[wrong]}`;
  throw new JobError("invalid_output", message);
}

/** Raised cosines, in place. */
function fadeEnds(samples: Float32Array, length: number): void {
  const fade = Math.min(length, Math.floor(samples.length / 2));
  for (let index = 0; index < fade; index += 1) {
    const gain = 0.5 - 0.5 * Math.cos((Math.PI * index) / fade);
    const end = samples.length - 1 - index;
    samples[index] = gain * (samples[index] ?? 0);
    samples[end] = gain * (samples[end] ?? 0);
  }
}
