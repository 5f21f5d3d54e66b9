import { z } from "zod";
import type { Answer } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import {
  CATEGORIES,
  type Category,
  type InputType,
  type ModerationOutput,
  type ModerationRequest,
} from "./request.js";

const category = z.enum(CATEGORIES);
const inputType = z.enum(["text", "image"]);

const moderationResult = z.object({
  flagged: z.boolean(),
  categories: z.record(category, z.boolean()),
  category_scores: z.record(category, z.number().min(0).max(1)),
  category_applied_input_types: z
    .record(category, z.array(inputType))
    .describe("empty where the model has no label for the category: its score is 0 then"),
});

/** The answer of `POST /v1/moderations`. */
export const moderationReply = z.object({
  id: z.string(),
  model: z.string(),
  results: z.array(moderationResult),
});

type ModerationResult = z.infer<typeof moderationResult>;

export async function answerModeration(
  exchange: Exchange<ModerationRequest, ModerationOutput>,
): Promise<Answer> {
  const { output } = await exchange.finished();
  const { id, model } = exchange;
  const reply: z.infer<typeof moderationReply> = { id, model, results: moderationResults(output) };
  return { json: reply };
}

/** The public result of each input. */
export function moderationResults({ results, thresholds }: ModerationOutput): ModerationResult[] {
  return results.map(({ scores, appliedTypes }) => {
    const isFlagged = scores.map((score, at) => score >= (thresholds[at] ?? 1));
    return {
      flagged: isFlagged.includes(true),
      categories: byCategory((at) => isFlagged[at] ?? false),
      category_scores: byCategory((at) => scores[at] ?? 0),
      category_applied_input_types: byCategory((at): InputType[] => [...(appliedTypes[at] ?? [])]),
    };
  });
}

function byCategory<T>(valueAt: (index: number) => T): Record<Category, T> {
  const entries = CATEGORIES.map((name, index) => [name, valueAt(index)] as const);
  // Every category has its entry: the list above is what the type is made from.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Record<Category, T>;
}
