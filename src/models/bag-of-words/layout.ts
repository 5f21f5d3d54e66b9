import { z } from "zod";
import { type Layout, TEXT_CONCURRENCY } from "../../runtime/packages/layout.js";

const vocabulary = z.object({ vocabulary: z.record(z.string(), z.int()) });

/** profanity-check: counts of words into a linear classifier. */
export const bagOfWords: Layout = {
  lookedFor: "model.onnx with vocab.json of a bag of words (profanity-check)",
  async recognise(folder) {
    if (folder.has("config.json") || folder.has("tokenizer.json") || !folder.has("model.onnx"))
      return undefined;
    const words = await folder.readJson("vocab.json", vocabulary).catch(() => undefined);
    if (words === undefined) return undefined;
    return {
      modality: "moderation",
      pipeline: "bag-of-words",
      files: { classifier: "model.onnx", vocabulary: "vocab.json" },
      concurrency: TEXT_CONCURRENCY,
      shapes: { words: Object.keys(words.vocabulary).length },
    };
  },
};
