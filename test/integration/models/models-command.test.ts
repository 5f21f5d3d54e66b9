import { execFile } from "node:child_process";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { type RunnerParts, runnerParts } from "#framemill/bin/package-runner.js";
import { runCanary } from "#framemill/bin/canary.js";
import { loadConfig } from "#framemill/config.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Modality } from "#framemill/core/modality.js";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import { checkGraphs, openEachGraph } from "#framemill/inference/package-check.js";
import { findModality } from "#framemill/modalities/registry.js";
import { addedModel } from "../../support/added-model.js";
import { CHAT_FILES, createModelFolders } from "../../support/model-folders.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { startHub } from "../../support/hub-server.js";

const folders = createModelFolders();
const { modelsDir } = folders;
afterAll(() => folders.remove());

const ENTRY = fileURLToPath(new URL("../../../dist/bin/framemill.js", import.meta.url));
const run = promisify(execFile);

async function framemill(...words: readonly string[]) {
  const given = [ENTRY, "--models-dir", modelsDir, "models", ...words];
  const ended = await run(process.execPath, given).catch((thrown: object) => ({
    stdout: "",
    stderr: "",
    code: 1,
    ...thrown,
  }));
  return { code: 0, ...ended };
}

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
    roles: ["embeddings", "config", "tokenizer", "modules"],
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

  test.each(PUBLISHED.filter(({ serves: [modality] }) => findModality(modality) !== undefined))(
    "of $name answers its canary",
    async ({ name, extra = [], shapes = {} }) => {
      const model = await addedModel(name, { extra, shapes });
      expect(await runCanary(model, runnerParts(loadConfig({ threads: 2 })))).toBeGreaterThan(0);
    },
  );

  test("states the limits that a request is checked against", async () => {
    const limits = async (name: string, extra: readonly string[] = []) => {
      const model = await addedModel(name, { extra, shapes: {} });
      return { ...model.shapes, ...model.limits };
    };
    expect(await limits("tiny-official/embed-bert")).toEqual({
      dimensions: 32,
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

  test.each([
    ["image-taef2", /bare autoencoder.*no model_index\.json/],
    ["tiny-official/tts-kokoro", /has no voices\/<id>\.bin/],
    ["silero-vad", /in no layout that is read\. Looked for:/],
  ])("that is none, as %s, is told why", async (name, sentence) => {
    await expect(addModel(publishedModel(name), { modelsDir })).rejects.toThrow(sentence);
  });

  test("is added, listed and checked by the command line", async () => {
    const added = await framemill(
      "add",
      publishedModel("tiny-official/rerank-bert"),
      "--id",
      "pairs",
      "--no-canary",
    );
    expect(added).toMatchObject({
      code: 0,
      stdout: "pairs: rerank (encoder), licence unknown; 1 graph opens\n",
    });
    expect((await framemill("list")).stdout).toMatch(/^pairs +rerank +encoder +[\d.]+ +unknown$/m);
    expect((await framemill("check", "--no-canary")).stdout).toBe(
      "pairs: 4 files hash as they should, 1 graph opens\n",
    );
    writeFileSync(join(modelsDir, "pairs", "config.json"), "{}");
    folders.write("models/broken", { "model.json": "{" });
    const checked = await framemill("check", "--no-canary");
    expect(checked.code).toBe(1);
    expect(checked.stdout).toMatch(
      /^broken: FAILS: .*model\.json is not JSON\npairs: FAILS: .*config\.json must have \d+ bytes, has 2\n$/,
    );
    rmSync(join(modelsDir, "broken"), { recursive: true });
    rmSync(join(modelsDir, "pairs"), { recursive: true });
  });
});

describe("the command line", () => {
  test("names an operator that ONNX Runtime lacks, and leaves nothing behind", async () => {
    const graph = {
      inputs: ["input_ids", "past_0"],
      outputs: ["logits", "present_0"],
      operator: "Frobnicate",
    };
    const source = folders.write("odd", { ...CHAT_FILES, "onnx/model.onnx": { graph } });
    const { code, stderr } = await framemill("add", source, "--no-canary");
    expect(code).toBe(1);
    expect(stderr).toContain(
      "the graph decoder (onnx/model.onnx) uses the operator Frobnicate, which this ONNX Runtime does not have",
    );
    expect(readdirSync(modelsDir)).toEqual([]);
  });

  test("pulls from a hub, keeps what was downloaded when the model fails, and adds it when it does not", async () => {
    const source = folders.write("published", {
      ...CHAT_FILES,
      "README.md": "---\nlicense: mit\n---\n",
    });
    const { readFileSync } = await import("node:fs");
    const paths = ["config.json", "tokenizer.json", "onnx/model.onnx", "README.md"];
    const hub = await startHub(
      new Map(paths.map((path) => [path, readFileSync(join(source, path))])),
    );
    try {
      const pull = (...words: string[]) =>
        framemill("pull", "acme/tiny", "--base-url", hub.baseUrl, ...words);
      expect((await pull("--dtype", "q4", "--no-canary")).stderr).toContain(
        "no graph is there as q4",
      );
      expect(existsSync(join(modelsDir, ".pulling"))).toBe(true);
      expect((await pull("--no-canary")).stdout).toContain(
        "tiny: chat (decoder-text), licence MIT; 1 graph opens",
      );
    } finally {
      await hub.close();
    }
    expect(readdirSync(modelsDir)).toEqual(["tiny"]);
    expect((await framemill("check", "tiny", "--no-canary")).code).toBe(0);
  });
});

describe("the canary", () => {
  const example = { words: 3 };
  const modality: Modality = {
    name: "chat",
    endpoint: {
      path: "/v1/echo",
      delivery: "reply",
      object: "echo",
      idPrefix: "echo",
      variants: [],
    },
    example: () => example,
    requestSchema: () => ({}),
    responseSchema: () => ({}),
    admit: async (body, context) => ({ body, of: context.model.contextTokens }),
    mostUnits: () => ({}),
    countUnits: () => ({}),
    loadPipeline: () => Promise.reject(new Error("the host runs it")),
  };

  function parts(events: readonly PipelineEvent[], requests: unknown[] = []): RunnerParts {
    return {
      findModality: (name) => (name === "chat" ? modality : undefined),
      openInference: () => ({
        ready: async () => {},
        async *run({ job }) {
          requests.push(job.request);
          yield* events;
        },
        processId: undefined,
        device: "",
        memoryBytes: async () => 0,
        close: async () => {},
      }),
    };
  }

  test("runs the modality's own example on the new model, and wants an output", async () => {
    const model = await addModel(folders.write("echo", CHAT_FILES), { modelsDir });
    const requests: unknown[] = [];
    await runCanary(model, parts([{ type: "output", output: {} }], requests));
    expect(requests).toEqual([{ body: { model: "echo", words: 3 }, of: 64 }]);
    await expect(runCanary(model, parts([]))).rejects.toThrow(
      "the canary of echo failed: it ended without an output",
    );
    const other = { ...model, modality: "smells" };
    await expect(runCanary(other, parts([]))).rejects.toThrow("this build serves no smells models");
  });
});
