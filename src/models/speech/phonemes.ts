import { type EspeakOptions, phonemize } from "../../media/espeak.js";
import { sayEnglish } from "./english-text.js";

/** Marks as models know them, for those that texts use. */
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/[‘’ʼ]/g, "'"],
  [/(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu, ""],
  [/[«»“”„]/g, '"'],
  [/[[{]/g, "("],
  [/[\]}]/g, ")"],
  [/、|，/g, ", "],
  [/。/g, ". "],
  [/！/g, "! "],
  [/：/g, ": "],
  [/；/g, "; "],
  [/？/g, "? "],
  [/\.{3,}/g, "…"],
  [/\s+[-–—]+\s+|—|--+/g, " — "],
  [/\s+/g, " "],
];

/**
 * Marks with the spaces around them. A full stop, comma or colon inside a word or number belongs to
 * it, and so does an apostrophe.
 */
const BETWEEN = /(?:\s*(?:[;!?¡¿—…"()]|[.,:](?=[\s;!?—…"().,:]|$))+\s*)+/g;

/** Text with the marks that models know, whitespace made single. */
export function settleMarks(text: string): string {
  return MARKS.reduce((settled, [pattern, mark]) => settled.replaceAll(pattern, mark), text).trim();
}

/** IPA of a text, its marks kept in their places: models take pauses and tones from them. */
export async function phonemizeText(text: string, options: EspeakOptions): Promise<string> {
  const settled = settleMarks(text);
  const spoken = options.voice.startsWith("en") ? sayEnglish(settled) : settled;
  const marks = spoken.match(BETWEEN) ?? [];
  const words = spoken.split(BETWEEN);
  const phonemes = await phonemize(words, options);
  return phonemes
    .map((said, index) => said + (marks[index] ?? ""))
    .join("")
    .trim();
}

/** Strongest first: behind these a text may be cut without being heard. */
const CUTS = [".!?…", ";:", ",—", " "];

/**
 * Pieces of at most `limit` characters, each ending behind the strongest mark of its second half, or
 * between words, or, where there is neither, at the limit.
 */
export function cutPhonemes(phonemes: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = Array.from(phonemes.trim());
  while (rest.length > limit) {
    const half = Math.ceil(limit / 2);
    const window = rest.slice(half, limit);
    const end = half + findCut(window);
    pieces.push(rest.slice(0, end).join("").trim());
    rest = Array.from(rest.slice(end).join("").trim());
  }
  return [...pieces, rest.join("")].filter((piece) => piece !== "");
}

/** Characters before the cut. */
function findCut(window: readonly string[]): number {
  for (const marks of CUTS) {
    const place = window.findLastIndex((character) => marks.includes(character));
    if (place >= 0) return place + 1;
  }
  return window.length;
}

/** espeak-ng's names for languages that it calls otherwise, or has several voices for. */
const ESPEAK_NAMES: Readonly<Record<string, string>> = {
  en: "en-us",
  fr: "fr-fr",
  zh: "cmn",
  "zh-cn": "cmn",
  "zh-tw": "cmn",
  "zh-hk": "yue",
  no: "nb",
  "pt-pt": "pt",
  "es-mx": "es-419",
};

/** Languages whose region changes the voice; for all others the language alone decides. */
const REGIONAL = /^(?:en-(?:us|gb|029)|fr-(?:fr|be|ch)|pt-br|es-419|vi-vn-x-(?:central|south))$/;

/** espeak-ng's voice for a BCP 47 code: `en-GB` → `en-gb`, `de-AT` → `de`. */
export function espeakVoice(language: string): string {
  const code = language.toLowerCase().replaceAll("_", "-");
  const named = ESPEAK_NAMES[code];
  if (named !== undefined) return named;
  if (REGIONAL.test(code)) return code;
  const base = code.split("-")[0] ?? code;
  return ESPEAK_NAMES[base] ?? base;
}
