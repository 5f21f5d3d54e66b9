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
