import { readFile } from "node:fs/promises";
import type { Note } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

/** Silero's voice detector, by role, where the folder has one. */
export function voiceDetectorFile(folder: ModelFolder): { readonly vad: string | undefined } {
  const [other] = folder.matching(/(^|\/)silero_vad[^/]*\.onnx$/);
  return { vad: folder.find("silero_vad.onnx") ?? other };
}

/** What a recogniser's `shapes` say of languages, and a note where no file does. */
export async function statedLanguages(folder: ModelFolder): Promise<{
  readonly languages: readonly string[];
  readonly notes: readonly Note[];
}> {
  const card = folder.has("README.md") ? await readFile(folder.absolute("README.md"), "utf8") : "";
  const [, head = ""] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card) ?? [];
  const [, stated = ""] = /^languages?:((?:[^\n]*)(?:\r?\n\s*-[^\n]*)*)/m.exec(head) ?? [];
  const languages = stated.match(/\b[a-z]{2,3}\b/g) ?? [];
  if (languages.length > 0) return { languages: [...new Set(languages)], notes: [] };
  const text = `no card says which languages ${folder.name} hears: English was written into shapes.languages of model.json`;
  return { languages: ["en"], notes: [{ text }] };
}
