/** A sentence of a text, and what follows it. */
export interface Sentence {
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
