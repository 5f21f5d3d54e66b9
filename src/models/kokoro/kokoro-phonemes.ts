import { JobError } from "../../core/errors.js";
import { espeakVoice } from "../speech/espeak-voices.js";
import { phonemizeText } from "../speech/phonemes.js";
import type { TextToSpeak } from "../speech/speech-model.js";

/** First letter of a voice's id → language (hexgrad/kokoro, VOICES.md). */
const LANGUAGES: Readonly<Record<string, string>> = {
  a: "en-US",
  b: "en-GB",
  e: "es",
  f: "fr-FR",
  h: "hi",
  i: "it",
  j: "ja",
  p: "pt-BR",
  z: "zh",
};

/** Trained on other phonemizers than espeak-ng; what espeak-ng says of these would be gibberish. */
const OTHER_PHONEMES: ReadonlySet<string> = new Set(["ja", "zh"]);

/** How English sounds as the model knows them: espeak-ng's others are replaced (kokoro.js, phonemize). */
const ENGLISH_SOUNDS: readonly (readonly [RegExp, string])[] = [
  [/kəkˈoːɹoʊ/g, "kˈoʊkəɹoʊ"],
  [/kəkˈɔːɹəʊ/g, "kˈəʊkəɹəʊ"],
  [/ʲ/g, "j"],
  [/r/g, "ɹ"],
  [/x/g, "k"],
  [/ɬ/g, "l"],
  [/(?<=[a-zɹː])(?=hˈʌndɹɪd)/g, " "],
  [/ z(?=[;:,.!?¡¿—…"() ]|$)/g, "z"],
];

/** BCP 47 code of a voice: `af_heart` speaks American English. */
function kokoroLanguage(voice: string): string {
  const [, letter = "a"] = /^([a-z])[fm]_/.exec(voice) ?? [];
  return LANGUAGES[letter] ?? "en-US";
}

/** A text as the sounds and marks that Kokoro reads. */
export async function kokoroPhonemes(
  { text, voice, language, signal }: TextToSpeak,
  espeakPath: string,
): Promise<string> {
  const code = language ?? kokoroLanguage(voice);
  const [base = ""] = code.toLowerCase().split("-");
  if (OTHER_PHONEMES.has(base)) {
    const message = `language must be one that espeak-ng prepares for Kokoro, got ${code} (voice ${voice})`;
    throw new JobError("invalid_value", message, {
      param: language === null ? "voice" : "language",
    });
  }
  const options = { espeakPath, voice: espeakVoice(code), signal };
  const phonemes = await phonemizeText(text, options);
  return base === "en" ? settleEnglish(phonemes, options.voice === "en-us") : phonemes;
}

function settleEnglish(phonemes: string, isAmerican: boolean): string {
  const settled = ENGLISH_SOUNDS.reduce(
    (said, [sound, ours]) => said.replaceAll(sound, ours),
    phonemes,
  );
  return isAmerican ? settled.replaceAll(/(?<=nˈaɪn)ti(?!ː)/g, "di") : settled;
}
