import { expect, test } from "vitest";
import { loadTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

const TEXTS = ["Hello  wörld 😀 日本", "it's 1,234 o'clock.\n\tEnd", "", "naïve café — ok?"];

const load = (...folder: string[]) =>
  loadTextTokenizer({
    tokenizer: publishedModel(...folder, "tokenizer.json"),
    config: publishedModel(...folder, "tokenizer_config.json"),
  });

describeWithModels("published tokenizers", () => {
  test.each(["llama2", "phi-3", "whisper-multilingual", "roberta-base"])(
    "%s gives every text back",
    async (name) => {
      const tokenizer = await load("tokenizers", name);
      for (const text of TEXTS) expect(tokenizer.decode(tokenizer.encode(text).ids)).toBe(text);
    },
  );

  test("CLIP's vocab.json and merges.txt encode as its tokenizer.json does", async () => {
    const whole = await load("tokenizers", "clip-vit");
    const folder = ["tiny-official", "image-sd15", "tokenizer"];
    const built = await loadTextTokenizer({
      vocab: publishedModel(...folder, "vocab.json"),
      merges: publishedModel(...folder, "merges.txt"),
      config: publishedModel(...folder, "tokenizer_config.json"),
    });
    for (const text of [...TEXTS, "an Astronaut's horse, 4k!! <|endoftext|> x"])
      expect(built.encode(text)).toEqual(whole.encode(text));
    expect(built).toMatchObject({ maxTokens: 77, special: { bos: 49_406, pad: 49_407 } });
  });

  // The ids of transformers' own BertTokenizer.
  test("BERT's gives a pair its ids", async () => {
    const tokenizer = await load("tiny-official", "rerank-bert");
    const pair = "a long document about it and more";
    expect(tokenizer.encode("what is it", { pair }).ids).toEqual([
      101, 2054, 2003, 2009, 102, 1037, 2146, 6254, 2055, 2009, 1998, 2062, 102,
    ]);
  });
});
