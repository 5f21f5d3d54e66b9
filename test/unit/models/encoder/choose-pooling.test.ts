import { afterAll, describe, expect, test } from "vitest";
import { recognise } from "#framemill/models/registry.js";
import { openModelFolder } from "#framemill/runtime/packages/model-folder.js";
import { type Content, createModelFolders } from "../../../support/model-folders.js";

const folders = createModelFolders();
afterAll(() => folders.remove());
let count = 0;

interface Published {
  readonly name?: string;
  readonly config?: object;
  readonly card?: string;
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly files?: Readonly<Record<string, Content>>;
}

async function recognised(published: Published, pooling?: string) {
  const { name = "acme-embed", config, card, files } = published;
  const { inputs = [], outputs = ["last_hidden_state"] } = published;
  const base = { model_type: "bert", architectures: ["BertModel"], hidden_size: 8 };
  const source = folders.write(`${(count += 1)}/${name}`, {
    "config.json": { ...base, ...config },
    "tokenizer.json": {},
    "onnx/model.onnx": { graph: { inputs: ["input_ids", "attention_mask", ...inputs], outputs } },
    ...(card !== undefined && { "README.md": card }),
    ...files,
  });
  const folder = await openModelFolder(source);
  return recognise(folder, pooling === undefined ? {} : { pooling });
}

const QWEN = { architectures: ["Qwen3ForCausalLM"], model_type: "qwen3" };
const pooled = (config: object) => ({ files: { "1_Pooling/config.json": config } });
const snippet = (word: string) =>
  `await extractor(texts, { pooling: '${word}', normalize: true });`;

describe("an embedder pools", () => {
  test.each([
    ["1_Pooling", { name: "bge-small", ...pooled({ pooling_mode: "max" }) }, "max", "file"],
    ["a causal architecture", { config: QWEN }, "last", "family"],
    ["caches", { inputs: ["past_key_values.0.key"] }, "last", "family"],
    ["its folder's name", { name: "Xenova--bge-small-en-v1.5@0f2c" }, "cls", "family"],
    ["its card's title", { card: "# Snowflake-arctic-embed-m" }, "cls", "family"],
    ["its base", { card: "---\nbase_model:\n- intfloat/e5-small-v2\n---\n" }, "mean", "family"],
    ["_name_or_path", { config: { _name_or_path: "BAAI/bge-m3" } }, "cls", "family"],
    ["a first generation of gte", { name: "gte-small" }, "mean", "family"],
    [
      "a later one",
      { name: "gte-base-en-v1.5", config: { model_type: "new", architectures: ["NewModel"] } },
      "cls",
      "family",
    ],
    [
      "a decoder that reads both ways",
      {
        name: "embeddinggemma-300m",
        config: {
          model_type: "gemma3_text",
          architectures: ["Gemma3TextModel"],
          use_bidirectional_attention: true,
        },
      },
      "mean",
      "family",
    ],
    ["a snippet of its card", { card: snippet("cls") }, "cls", "card"],
    ["printed modules", { card: "Pooling({'pooling_mode_mean_tokens': True})" }, "mean", "card"],
    ["its card's prose", { card: "We use last-token pooling." }, "last", "card"],
    ["code before prose", { card: `Not mean pooling: ${snippet("cls")}` }, "cls", "card"],
  ] as const)("as %s says", async (_, published, pooling, poolingFrom) => {
    const { shapes, notes } = await recognised(published);
    expect(shapes).toMatchObject({ pooling, poolingFrom });
    expect(notes?.map(({ isWarning }) => isWarning)).toEqual([undefined]);
  });

  test.each([
    ["nothing speaks", {}],
    ["its card says both", { card: `${snippet("cls")}\n${snippet("mean")}` }],
    ["a name only looks like a family's", { name: "subge-small" }],
  ])("by its mean, with a warning, where %s", async (_, published) => {
    const { shapes, notes } = await recognised(published);
    expect(shapes).toMatchObject({ pooling: "mean", poolingFrom: "assumed" });
    expect(notes).toMatchObject([
      {
        isWarning: true,
        text: expect.stringMatching(/mean is assumed.*--pooling mean, cls, last/),
      },
    ]);
  });

  test("as its family does where its card differs, with a warning", async () => {
    const published = { name: "bge-small-en", card: snippet("mean") };
    const { shapes, notes } = await recognised(published);
    expect(shapes).toMatchObject({ pooling: "cls", poolingFrom: "family" });
    expect(notes).toMatchObject([
      { isWarning: true, text: expect.stringContaining("its card says mean") },
    ]);
  });

  test("as the caller says, whatever its files say", async () => {
    const published = { name: "bge-small", ...pooled({ pooling_mode: "mean" }) };
    const found = await recognised(published, "last");
    expect(found.shapes).toMatchObject({ pooling: "last", poolingFrom: "option" });
  });

  test("in its graph where that pools, and no other way", async () => {
    const published = { outputs: ["token_embeddings", "sentence_embedding"] };
    const { shapes, notes } = await recognised(published);
    expect(shapes).not.toHaveProperty("pooling");
    expect(notes).toEqual([{ text: "pooled by its graph (sentence_embedding)" }]);
    await expect(recognised(published, "cls")).rejects.toThrow(
      "--pooling cls cannot be met: onnx/model.onnx pools already, in its output sentence_embedding",
    );
  });
});

test("a pooling that is asked for of another kind of model, or is none, is refused", async () => {
  const config = { architectures: ["BertForSequenceClassification"], num_labels: 1 };
  await expect(recognised({ config, outputs: ["logits"] }, "cls")).rejects.toThrow(
    "--pooling cls is for text encoders that make embeddings: acme-embed is rerank (encoder)",
  );
  await expect(recognised({}, "max")).rejects.toThrow(
    "--pooling must be one of mean, cls, last, got max",
  );
});
