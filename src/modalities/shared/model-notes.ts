import { z } from "zod";

/** What a model did not do of what it was asked, in sentences for the caller; absent where it says nothing. */
export const storedNotes = z.array(z.string()).readonly().exactOptional();

/** The same in public objects. */
export const answeredNotes = z
  .array(z.string())
  .describe("what the model did not understand or could not do of what was asked");

/** The same beside an answer that has no fields. */
export function notesHeader(notes: readonly string[] = []): Record<string, string> {
  return notes.length > 0 ? { "x-model-notes": notes.join(" ") } : {};
}
