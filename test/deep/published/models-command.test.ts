import { expect, test } from "vitest";
import { runCanary, runnerParts } from "#framemill/bin/package-runner.js";
import { loadConfig } from "#framemill/config.js";
import { checkGraphs, openEachGraph } from "#framemill/runtime/packages/package-check.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels } from "../../support/published-models.js";

interface Published {
  readonly name: string;
  readonly serves: readonly [modality: string, pipeline: string];
  readonly roles: readonly string[];
  readonly extra?: readonly string[];
  readonly shapes?: Readonly<Record<string, unknown>>;
}

const text = ["config", "tokenizer", "tokenizer-config"];
const image = ["model-index", "scheduler-config", "text-encoder", "text-encoder-config"].concat(
  ["tokenizer-vocab", "tokenizer-merges", "tokenizer-config", "denoiser", "denoiser-config"],
  ["vae-decoder", "vae-decoder-config", "vae-encoder", "vae-encoder-config"],
);
const sequence = [...text, "generation-config", "decoder-merged"];
const voices = ["voice-af_heart", "voice-am_michael", "voice-bf_emma"];

/** Every published model of the shared folder, under the roles that its pipeline asks for. */
const PUBLISHED: readonly Published[] = [
  {
    name: "chat-stories260K",
    serves: ["chat", "decoder-text"],
    roles: [...text, "decoder", "generation-config"],
  },
  {
    name: "chat-ort-genai-tiny-random-llama-fp16",
    serves: ["chat", "decoder-text"],
    roles: [...text, "decoder", "decoder-data"],
  },
  {
    name: "tiny-official/chat-qwen3",
    serves: ["chat", "decoder-text"],
    roles: [...text, "decoder", "generation-config"],
  },
  {
    name: "tiny-official/asr-whisper",
    extra: ["silero-vad"],
    serves: ["transcription", "whisper"],
    roles: [...sequence, "encoder", "preprocessor-config", "vad"],
  },
  {
    name: "tiny-official/music-musicgen",
    serves: ["music", "musicgen"],
    roles: [...sequence, "text-encoder", "audio-decoder"],
  },
  {
    name: "tiny-official/tts-kokoro",
    extra: ["tts-kokoro-voices"],
    serves: ["speech", "kokoro"],
    roles: ["model", "config", ...voices],
  },
  { name: "tiny-official/image-sd15", serves: ["image", "diffusion-image"], roles: image },
  {
    name: "tiny-official/image-flux-schnell",
    // Its own pictures are of 1024 by 1024, which proves no more and takes ten seconds.
    shapes: { sizes: [[128, 128]] },
    serves: ["image", "diffusion-image"],
    roles: [
      ...image,
      "text-encoder-2",
      "text-encoder-2-config",
      "tokenizer-2",
      "tokenizer-2-config",
    ],
  },
  {
    name: "tiny-official/video-wan21-t2v",
    shapes: { native: [32, 48] },
    serves: ["video", "wan-video"],
    roles: ["model-index", "scheduler-config", "text-encoder", "text-encoder-config"].concat(
      ["tokenizer", "tokenizer-config", "denoiser", "denoiser-config"],
      ["vae-decoder", "vae-decoder-config"],
    ),
  },
  {
    name: "tiny-official/embed-bert",
    serves: ["embeddings", "encoder"],
    roles: [...text, "encoder", "pooling-config", "modules", "sentence-config"],
  },
  { name: "tiny-official/rerank-bert", serves: ["rerank", "encoder"], roles: [...text, "encoder"] },
  {
    name: "tiny-official/moderation-bert",
    serves: ["moderation", "encoder"],
    roles: [...text, "encoder"],
  },
  {
    name: "embed-model2vec-fixtures/test-model-vocab-quantized",
    serves: ["embeddings", "model2vec"],
    roles: ["embeddings", "config", "tokenizer"],
  },
  {
    name: "moderation-profanity-check",
    serves: ["moderation", "bag-of-words"],
    roles: ["classifier", "vocabulary"],
  },
];

describeWithModels("a published model", () => {
  test.each(PUBLISHED)(
    "of $name serves $serves",
    async ({ name, extra = [], shapes = {}, ...said }) => {
      const { serves, roles } = said;
      const model = await addedModel(name, { extra, shapes });
      expect([model.modality, model.pipeline]).toEqual(serves);
      expect(Object.keys(model.files).toSorted()).toEqual(roles.toSorted());
      await checkGraphs(model);
      const graphs = roles.filter((role) => model.files[role]?.path.endsWith(".onnx"));
      expect(await openEachGraph(model, 1)).toBe(graphs.length);
    },
  );

  test.each(PUBLISHED)("of $name answers its canary", async ({ name, extra = [], shapes = {} }) => {
    const model = await addedModel(name, { extra, shapes });
    const { seconds } = await runCanary(model, runnerParts(loadConfig({ threads: 2 })));
    expect(seconds).toBeGreaterThan(0);
  });

  test("states the limits that a request is checked against", async () => {
    const limits = async (name: string, extra: readonly string[] = []) => {
      const model = await addedModel(name, { extra, shapes: {} });
      return { ...model.shapes, ...model.limits };
    };
    expect(await limits("tiny-official/embed-bert")).toEqual({
      dimensions: 32,
      pooling: "mean",
      poolingFrom: "file",
      contextTokens: 256,
    });
    expect(await limits("embed-model2vec-fixtures/test-model-vocab-quantized")).toEqual({
      dimensions: 64,
    });
    expect(await limits("tiny-official/music-musicgen")).toMatchObject({
      sampleRateHz: 32_000,
      maxSeconds: 60,
    });
    expect(await limits("chat-ort-genai-tiny-random-llama-fp16")).toEqual({ contextTokens: 2_048 });
  });
});
