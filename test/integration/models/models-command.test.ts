import { z } from "zod";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { type RunnerParts, runnerParts, runCanary } from "#framemill/bin/package-runner.js";
import { loadConfig } from "#framemill/config.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Modality } from "#framemill/core/modality.js";
import { addModel } from "#framemill/models/add-model.js";
import type { Note } from "#framemill/runtime/packages/layout.js";
import { checkGraphs, openEachGraph } from "#framemill/runtime/packages/package-check.js";
import { startHub } from "../../support/hub-server.js";
import { CHAT_FILES, createModelFolders, type ModelFiles } from "../../support/model-folders.js";
import { GENAI } from "../../support/text-engines.js";
import { decoderFiles } from "../../support/tiny-decoder.js";
import { classifierFiles, embedderFiles, rerankerFiles } from "../../support/tiny-encoder.js";

const folders = createModelFolders();
const { modelsDir } = folders;
afterAll(() => folders.remove());

const ENTRY = fileURLToPath(new URL("../../../dist/bin/framemill.js", import.meta.url));
const run = promisify(execFile);

async function framemill(...words: readonly string[]) {
  const given = [ENTRY, "--models-dir", modelsDir, "models", ...words];
  // No worker answers there, whatever else runs on this machine.
  const env = { ...process.env, WORKER_PORT: "9" };
  const ended = await run(process.execPath, given, { env }).catch((thrown: object) => ({
    stdout: "",
    stderr: "",
    code: 1,
    ...thrown,
  }));
  return { code: 0, ...ended };
}

/** Folders as they are published, one for each modality that answers in text or numbers. */
const PUBLISHED: readonly (readonly [modality: string, files: ModelFiles])[] = [
  ["chat", decoderFiles(GENAI)],
  ["embeddings", embedderFiles()],
  ["rerank", rerankerFiles()],
  ["moderation", classifierFiles({ toxic: ["fool"], safe: [] })],
];

describe("a published folder", () => {
  test.each(PUBLISHED)("of %s opens and answers its canary", async (modality, files) => {
    const source = folders.write(`of-${modality}`, files);
    const model = await addModel(source, { modelsDir: join(folders.root, "trials") });
    expect(model.modality).toBe(modality);
    await checkGraphs(model);
    expect(await openEachGraph(model, 1)).toBe(1);
    const { seconds } = await runCanary(model, runnerParts(loadConfig({ threads: 1 })));
    expect(seconds).toBeGreaterThan(0);
  });

  test("is added with a warning where it has no template, or one that shows calls in no known form", async () => {
    const notes: Note[] = [];
    const add = (name: string, template?: string) => {
      const own = template === undefined ? {} : { "chat_template.jinja": template };
      const files = { ...decoderFiles(GENAI), ...own };
      const onNote = (note: Note) => notes.push(note);
      return addModel(folders.write(name, files), {
        modelsDir: join(folders.root, "notes"),
        onNote,
      });
    };
    await add("known", "{{ tools | tojson }}<tool_call>{{ messages }}</tool_call>");
    await add("toolless", "{{ messages }}");
    expect(notes).toEqual([]);
    await add("unknown", "{{ tools | tojson }}CALL {{ messages[0].tool_calls }}");
    await add("none");
    expect(notes.map(({ text }) => text)).toEqual([
      expect.stringContaining("in no form that is known"),
      expect.stringContaining("it has no chat template"),
    ]);
  });

  test("that holds a bare autoencoder is refused with the reason", async () => {
    const source = folders.write("bare", { "vae_decoder/model.onnx": { graph: {} } });
    await expect(addModel(source, { modelsDir })).rejects.toThrow(
      /bare autoencoder.*no model_index\.json/,
    );
  });
});

describe("the command line", () => {
  test("adds, lists and checks a model, and says what has changed since", async () => {
    const source = folders.write("scores", rerankerFiles());
    const added = await framemill("add", source, "--id", "pairs", "--no-canary");
    expect(added).toMatchObject({
      code: 0,
      stdout: "pairs: rerank (encoder, 512 tokens), licence unknown; 1 graph opens\n",
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

  test("says how an embedder pools, and warns where that is assumed", async () => {
    const { "1_Pooling/config.json": _, ...files } = embedderFiles();
    const source = folders.write("vectors", files);
    const assumed = await framemill("add", source, "--id", "assumed", "--no-canary");
    expect(assumed.stderr).toMatch(/^warning: assumed: .*pooling mean is assumed.*--pooling mean/m);
    const told = await framemill("add", source, "--id", "told", "--pooling", "cls", "--no-canary");
    expect(told.stdout).toBe(
      "told: embeddings (encoder, 256 tokens), licence unknown; 1 graph opens\ntold: pooling cls, by --pooling\n",
    );
    const { shapes } = JSON.parse(readFileSync(join(modelsDir, "told", "model.json"), "utf8"));
    expect(shapes).toEqual({ dimensions: 4, pooling: "cls", poolingFrom: "option" });
    for (const id of ["assumed", "told"]) rmSync(join(modelsDir, id), { recursive: true });
  });

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

  test("pulls one of several models of ONNX Runtime GenAI, with the licence that lies above them", async () => {
    const source = fileURLToPath(
      new URL("../../fixtures/published/genai-qwen-3-int4/model", import.meta.url),
    );
    const inFolders = ["cpu_and_mobile/cpu-int4", "cuda/cuda-int4"].flatMap((folder) =>
      readdirSync(source).map((name) => [`${folder}/${name}`, join(source, name)] as const),
    );
    const card = ["README.md", Buffer.from("---\nlicense: mit\n---\n")] as const;
    const config = ["config.json", Buffer.from('{"architectures": ["Qwen3ForCausalLM"]}')] as const;
    const files = inFolders.map(([path, file]) => [path, readFileSync(file)] as const);
    const hub = await startHub(new Map([card, config, ...files]));
    try {
      const pull = (...words: string[]) =>
        framemill("pull", "acme/tiny", "--base-url", hub.baseUrl, ...words);
      expect((await pull()).stderr).toContain(
        "holds 2 models of ONNX Runtime GenAI: take one with --subfolder cpu_and_mobile/cpu-int4, cuda/cuda-int4",
      );
      expect((await pull("--subfolder", "gpu")).stderr).toContain("has no folder gpu");
      expect((await pull("--subfolder", "cpu_and_mobile/cpu-int4/", "--id", "one")).stdout).toMatch(
        /^one: chat \(decoder-text, 512 tokens\), licence MIT; 1 graph opens, the canary took/m,
      );
    } finally {
      await hub.close();
      rmSync(join(modelsDir, "one"), { recursive: true, force: true });
    }
  });

  test("pulls from a hub, keeps what was downloaded when the model fails, and adds it when it does not", async () => {
    const source = folders.write("published", {
      ...CHAT_FILES,
      "README.md": "---\nlicense: mit\n---\n",
    });
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
        "tiny: chat (decoder-text, 64 tokens), licence MIT; 1 graph opens",
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
    schemas: { request: z.unknown(), output: z.unknown() },
    requestSchema: () => ({}),
    responseSchema: () => ({}),
    admit: async (body, context) => ({ body, of: context.model.contextTokens }),
    prices: {},
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
        processId: process.pid,
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
