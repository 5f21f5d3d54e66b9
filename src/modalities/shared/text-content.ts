import { z } from "zod";
import { atMost, describe } from "./request-body.js";

const MAX_PARTS = 2_048;

/** Names that the two text endpoints give to a piece of text, and the field that holds it. */
const TEXT_FIELDS = new Map([
  ["text", "text"],
  ["input_text", "text"],
  ["output_text", "text"],
  ["refusal", "refusal"],
]);

const part = z.looseObject({ type: z.string() }).superRefine((value, context) => {
  const field = TEXT_FIELDS.get(value.type);
  const message =
    field === undefined
      ? `must be text: the models of this endpoint do not read ${value.type.slice(0, 40)} parts`
      : `must have its text in ${field}, got ${describe(value[field])}`;
  if (field === undefined || typeof value[field] !== "string")
    context.addIssue({ code: "custom", message, path: ["type"] });
});

/** A message's content: a string, or parts of text. */
export const textContent = atMost(
  MAX_PARTS,
  "parts",
  z.union([z.string(), z.array(part).max(MAX_PARTS)], {
    error: (issue) => `must be a string or an array of text parts, got ${describe(issue.input)}`,
  }),
);

/** Parts are joined by line breaks. */
export function textOf(content: z.infer<typeof textContent> | null | undefined): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((value) => String(value[TEXT_FIELDS.get(value.type) ?? "text"])).join("\n");
}
