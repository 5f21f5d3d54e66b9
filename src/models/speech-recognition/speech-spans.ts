/** A stretch of sound in samples, `end` excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface SpanRules {
  /** Probability from which a window starts speech; it ends 0.15 below. */
  readonly threshold: number;
  /** Silence that ends speech. */
  readonly silenceSamples: number;
  /** Kept on both sides of speech. */
  readonly paddingSamples: number;
  /** Shorter sounds are no speech. */
  readonly shortestSamples: number;
  /** A longer span is cut where speech was least likely in its later half. */
  readonly longestSamples: number;
}

const HYSTERESIS = 0.15;

/** Speech spans of a recording from the probabilities of its windows, in order. */
export interface SpanFinder {
  /** The span that this window ended, if any. */
  add(probability: number): Span | undefined;
  /** The span that the recording's end ended, if any. */
  finish(): Span | undefined;
}

export function createSpanFinder(windowSamples: number, rules: SpanRules): SpanFinder {
  const longest = rules.longestSamples - 2 * rules.paddingSamples;
  let at = 0;
  let open: OpenSpan | undefined;
  /** End of the span before: spans do not overlap. */
  let floor = 0;

  const close = ({ start, spokenTo, isRest }: OpenSpan): Span | undefined => {
    open = undefined;
    if (!isRest && spokenTo - start < rules.shortestSamples) return undefined;
    const span = padded(start, spokenTo + rules.paddingSamples);
    floor = span.end;
    return span;
  };
  const cut = ({ start, quietest }: OpenSpan): Span => {
    const span = padded(start, quietest.at);
    floor = quietest.at;
    open = { ...openSpan(quietest.at, at), isRest: true };
    return span;
  };
  const padded = (start: number, end: number): Span => ({
    start: Math.max(floor, start - rules.paddingSamples),
    end,
  });
  return {
    add(probability) {
      const from = at;
      at += windowSamples;
      if (open === undefined) {
        if (probability >= rules.threshold) open = openSpan(from, at);
        return undefined;
      }
      if (probability >= rules.threshold - HYSTERESIS) open.spokenTo = at;
      if (from - open.start >= longest / 2 && probability <= open.quietest.probability)
        open.quietest = { at: from, probability };
      if (at - open.spokenTo >= rules.silenceSamples) return close(open);
      return at - open.start >= longest ? cut(open) : undefined;
    },
    finish: () => (open === undefined ? undefined : close(open)),
  };
}

/** Speech that has not ended yet. */
interface OpenSpan {
  readonly start: number;
  /** What a cut left over: speech, however short. */
  readonly isRest: boolean;
  /** End of the last window that was speech. */
  spokenTo: number;
  /** Least likely window of the later half. */
  quietest: { readonly at: number; readonly probability: number };
}

function openSpan(start: number, spokenTo: number): OpenSpan {
  return { start, isRest: false, spokenTo, quietest: { at: spokenTo, probability: Infinity } };
}

export interface JoinRules {
  /** Greatest length of what is joined, silence between included. */
  readonly longestSamples: number;
  /** Greatest silence that is bridged: after a longer one Whisper tends to stop listening. */
  readonly gapSamples: number;
}

/** Neighbouring spans joined while together they fit. */
export async function* joinSpans(
  spans: AsyncIterable<Span>,
  { longestSamples, gapSamples }: JoinRules,
): AsyncGenerator<Span> {
  let open: Span | undefined;
  for await (const span of spans) {
    const fits =
      open !== undefined &&
      span.end - open.start <= longestSamples &&
      span.start - open.end <= gapSamples;
    if (open !== undefined && !fits) yield open;
    open = { start: fits && open !== undefined ? open.start : span.start, end: span.end };
  }
  if (open !== undefined) yield open;
}
