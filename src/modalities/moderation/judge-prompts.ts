import type { Judge } from "../../core/modality.js";
import { CATEGORIES } from "./categories.js";
import { moderationResults } from "./render.js";
import { MAX_CHARACTERS, MAX_INPUTS, type ModerationOutput } from "./request.js";

/** Other modalities' prompts as one moderation request, however many and long they are. */
export const judgePrompts: Judge<ModerationOutput> = {
  body: (model, texts) => ({ model, input: fitInputs(texts.flatMap(cutLong)) }),
  flagged(output) {
    const results = moderationResults(output);
    return CATEGORIES.filter((category) => results.some(({ categories }) => categories[category]));
  },
};

function cutLong(text: string): string[] {
  const count = Math.max(1, Math.ceil(text.length / MAX_CHARACTERS));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * MAX_CHARACTERS, (at + 1) * MAX_CHARACTERS),
  );
}

/** Neighbours go together where there are more texts than one request may have. */
function fitInputs(texts: readonly string[]): string[] {
  const group = Math.ceil(texts.length / MAX_INPUTS);
  return Array.from({ length: Math.ceil(texts.length / group) }, (_, at) =>
    texts.slice(at * group, (at + 1) * group).join("\n"),
  );
}
