import { z } from "zod";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

const FILE = "config_sentence_transformers.json";
const promptsFile = z.object({
  prompts: z.record(z.string(), z.string().nullable()).nullish(),
  default_prompt_name: z.string().nullish(),
});

/** Fields of `shapes` by config_sentence_transformers.json: texts that go before inputs, by name. */
interface PromptShapes {
  readonly prompts?: Readonly<Record<string, string>>;
  /** Name of the one that goes before inputs of no stated type. */
  readonly defaultPrompt?: string;
}

export async function readPrompts(folder: ModelFolder): Promise<PromptShapes> {
  const file = await folder.readJson(FILE, promptsFile);
  const entries = Object.entries(file?.prompts ?? {}).map(([name, text]) => [name, text ?? ""]);
  const chosen = file?.default_prompt_name ?? undefined;
  const prompts: Readonly<Record<string, string>> = Object.fromEntries(entries);
  if (chosen !== undefined && !Object.hasOwn(prompts, chosen))
    throw new Error(
      `${folder.name}/${FILE}: default_prompt_name must be one of ${Object.keys(prompts).join(", ") || "its prompts"}, got ${chosen}`,
    );
  return {
    ...(entries.length > 0 && { prompts }),
    ...(chosen !== undefined && { defaultPrompt: chosen }),
  };
}
