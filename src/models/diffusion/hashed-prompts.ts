import { float32, floatsOf, int64 } from "../../runtime/tensors/tensor.js";
import {
  hashedNgramSettings,
  type HashedNgramSettings,
  hashNgrams,
} from "../tokenizer/tokenizer.js";
import type { PromptEncoders, PromptEncodersSetup } from "./prompt-encoders.js";

const STATES = "last_hidden_state";

/** The one text encoder of a package whose words are hashed; undefined where they are not. */
export function openHashedPrompts({
  model,
  sessions,
  contextFeatures,
}: PromptEncodersSetup): PromptEncoders | undefined {
  const parsed = hashedNgramSettings.safeParse(model.tokenizer);
  if (!parsed.success) return undefined;
  const settings = parsed.data;
  const { words, idsPerWord } = settings;
  const run = async (text: string) => {
    const ids = int64(hashNgrams(text, settings), [1, words, idsPerWord]);
    const outputs = await sessions.run("text-encoder", { input_ids: ids }, { fetch: [STATES] });
    return float32(floatsOf(outputs, STATES), outputs[STATES]?.dims ?? []);
  };
  return {
    promptTokens: words,
    contextFeatures,
    has: (role) => role === "text-encoder",
    count: (text) => countWords(text, settings),
    run: async (role, text, outputs) => {
      if (role !== "text-encoder" || outputs.some((output) => output !== "last"))
        throw new Error(`${model.path}: a text encoder of hashed words has last states only`);
      const last = await run(text);
      return { last, penultimate: last, pooled: last };
    },
  };
}

/** Words that are read of a text: each has at least one id. */
function countWords(text: string, settings: HashedNgramSettings): number {
  const ids = hashNgrams(text, settings);
  const { words, idsPerWord } = settings;
  return Array.from({ length: words }, (_, word) => ids[word * idsPerWord]).filter((id) => id)
    .length;
}
