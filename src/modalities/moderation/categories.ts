/** What content is judged for, in the order of the answer. */
export const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;

export type Category = (typeof CATEGORIES)[number];

export function isCategory(name: string): name is Category {
  return CATEGORIES.some((category) => category === name);
}
