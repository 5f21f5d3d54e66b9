import type { WhisperTokens } from "./whisper-settings.js";

/** Consecutive tokens of a window with the times around them, in steps of 0.02 s from its start. */
export interface SpokenSegment {
  readonly start: number;
  readonly end: number;
  /** Text and times. */
  readonly tokens: readonly number[];
  /** Place of the first token in the window. */
  readonly offset: number;
}

export interface SegmentedWindow {
  readonly segments: readonly SpokenSegment[];
  /** Up to where the window is settled, in steps of 0.02 s: the next one starts there. */
  readonly settled: number;
}

/**
 * Cuts a window's tokens at pairs of times. What follows the last pair was cut off by the window's end
 * and is left to the next window, except where the window ends with a single time or has no pair.
 * `length` is that of the window's sound, in steps of 0.02 s.
 */
export function segmentWindow(
  tokens: readonly number[],
  { firstTimestamp }: Pick<WhisperTokens, "firstTimestamp">,
  length: number,
): SegmentedWindow {
  const isTime = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const cuts = tokens.flatMap((id, at) =>
    at > 0 && isTime(id) && isTime(tokens[at - 1]) ? [at] : [],
  );
  const endsComplete = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const timeOf = (id: number | undefined) => Math.max(0, (id ?? 0) - firstTimestamp);
  if (cuts.length === 0) {
    const start = timeOf(tokens[0]);
    const end = timeOf(tokens.at(-1));
    const whole = { start, end: end > start ? end : length, tokens, offset: 0 };
    return { segments: [whole], settled: length };
  }
  if (endsComplete) cuts.push(tokens.length);
  const segments = cuts.map((cut, index): SpokenSegment => {
    const offset = cuts[index - 1] ?? 0;
    const own = tokens.slice(offset, cut);
    return { start: timeOf(own[0]), end: timeOf(own.at(-1)), tokens: own, offset };
  });
  return {
    segments,
    settled: endsComplete ? length : Math.min(segments.at(-1)?.end ?? length, length),
  };
}
