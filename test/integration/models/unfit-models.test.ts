import { createHash } from "node:crypto";
import { cpSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import { admitAlone } from "#framemill/runtime/process/open-models.js";
import {
  modelInfo,
  type ModelManifest,
  type ModelPackage,
} from "#framemill/runtime/packages/model-package.js";
import { createInferenceProcess } from "#framemill/runtime/process/process.js";
import type { InferenceHost } from "#framemill/runtime/process/protocol.js";
import { createModelFolders } from "../../support/model-folders.js";
import { Graph } from "../../support/onnx.js";
import { embedderFiles } from "../../support/tiny-encoder.js";

const entryPath = fileURLToPath(new URL("../../../dist/bin/inference-process.js", import.meta.url));
const log = { info() {}, error() {} };
const folders = createModelFolders();

/** A model loads alone: the others leave for it. */
const BUDGET_BYTES = 1_000;
const GOOD = "good";

/** A graph that reads a text as an embedder does, and what it makes of it. */
function graphOf(make: (graph: Graph, ids: string) => string): Graph {
  const graph = new Graph();
  const ids = graph.input("input_ids", "int64", ["batch", "tokens"]);
  graph.input("attention_mask", "int64", ["batch", "tokens"]);
  const values = make(graph, graph.node("Cast", [ids], { to: 1 }));
  const column = graph.node("Unsqueeze", [values, graph.integers([2])]);
  const states = graph.node("Concat", [column, column, column, column], { axis: 2 });
  graph.output("last_hidden_state", "float32", ["batch", "tokens", 4], states);
  return graph;
}

interface Unfit {
  readonly what: string;
  readonly graph?: Graph;
  /** Name of the file of its weights, which ends early. */
  readonly cutFile?: string;
  readonly providers?: readonly string[];
  readonly said: RegExp;
  readonly code: string;
}

const WIDE = 2 ** 20;

const UNFIT: readonly Unfit[] = [
  {
    what: "an operator that is not there",
    graph: graphOf((graph, ids) => graph.node("Levitate", [ids])),
    said: /the graph encoder \(.+unfit-0.+\) uses the operator Levitate/,
    code: "server_error",
  },
  {
    what: "a type that is not read",
    graph: graphOf((graph, ids) => {
      graph.output("words", "string", [1], graph.input("text", "string", [1]));
      return ids;
    }),
    said: /the graph encoder \(.+unfit-1.+\) does not open: text cannot be used: .+ type string/,
    code: "server_error",
  },
  {
    what: "a provider that is missing",
    providers: ["cuda"],
    said: /the graph encoder \(.+unfit-2.+\) does not open: cuda: .+libonnxruntime_providers/,
    code: "server_error",
  },
  {
    what: "weights in a file that ends early",
    graph: graphOf((graph, ids) => graph.node("Add", [ids, graph.floats([1, 100], [])])),
    cutFile: "model.data",
    said: /the graph encoder \(.+unfit-3.+\) keeps the tensor \w+ in .+model\.data up to byte 400, but the file ends at 5/,
    code: "server_error",
  },
  {
    what: "numbers that are none",
    graph: graphOf((graph, ids) => {
      const zeros = graph.node("Mul", [ids, graph.floats([], [0])]);
      return graph.node("Div", [zeros, zeros]);
    }),
    said: /numbers that are not finite/,
    code: "invalid_output",
  },
  {
    what: "a shape that does not fit",
    graph: graphOf((graph, ids) => graph.node("Add", [ids, graph.floats([1, 77], [])])),
    said: /the graph encoder: .+Add node.+(77|broadcast)/s,
    code: "inference_crashed",
  },
  {
    what: "memory that is full",
    graph: graphOf((graph, ids) => {
      const shape = graph.node("Mul", [graph.node("Shape", [ids]), graph.integers([WIDE, WIDE])]);
      const wide = graph.node("ConstantOfShape", [shape]);
      return graph.node("Add", [ids, graph.node("ReduceMax", [wide], { keepdims: 0 })]);
    }),
    said: /the graph encoder: .+ConstantOfShape.+allocate memory/s,
    code: "out_of_memory",
  },
];

function writeUnfit(good: ModelPackage, at: number, { graph, cutFile, providers }: Unfit): string {
  const folder = join(folders.root, `unfit-${at}`);
  cpSync(good.path, folder, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(folder, "model.json"), "utf8")) as ModelManifest;
  const path = manifest.files["encoder"]?.path ?? "";
  const place = join(folder, path);
  graph?.write(place, cutFile === undefined ? {} : { dataFile: cutFile });
  const files = { ...manifest.files, encoder: statedOf(folder, path) };
  if (cutFile !== undefined) {
    const dataPath = path.replace(basename(path), cutFile);
    writeFileSync(join(folder, dataPath), "short");
    Object.assign(files, { "encoder-data": statedOf(folder, dataPath) });
  }
  const execution = { ...manifest.execution, ...(providers && { providers }) };
  const memory = { resident: BUDGET_BYTES };
  const own = { ...manifest, id: `unfit-${at}`, files, execution, memory };
  writeFileSync(join(folder, "model.json"), JSON.stringify(own));
  return folder;
}

/** A file as model.json states it. */
function statedOf(folder: string, path: string) {
  const bytes = readFileSync(join(folder, path));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { path, sha256, byteLength: statSync(join(folder, path)).size };
}

describe("a model of which the runtime makes nothing", () => {
  let good: ModelPackage;
  let host: InferenceHost;
  let processId: number | undefined;
  const embed = async (model: string) => {
    const { signal } = new AbortController();
    const info = await modelInfo(good);
    const { request } = await admitAlone({
      body: { input: "the cat" },
      modality: embeddings,
      info,
    });
    const job = { id: model, modality: "embeddings", model, request, expiresAtMs: 0, reportTo: "" };
    const readInput = async () => new Uint8Array();
    let output: unknown;
    const task = { job, scratchPath: folders.root, readInput };
    for await (const event of host.run(task, signal))
      if (event.type === "output") output = event.output;
    return output;
  };
  beforeAll(async () => {
    const source = folders.write("source", embedderFiles({ hasTypes: false }));
    good = await addModel(source, { modelsDir: folders.modelsDir, id: GOOD });
    const unfit = UNFIT.map((each, at) => writeUnfit(good, at, each));
    host = createInferenceProcess({
      entryPath,
      setup: {
        modelPaths: [good.path, ...unfit],
        threads: 1,
        warmUp: "never",
        modelMemoryBytes: BUDGET_BYTES,
        ffmpegPath: "",
        ffprobePath: "",
        espeakPath: "",
      },
      stallMs: 60_000,
      cancelMs: 60_000,
      log,
    });
    await host.ready();
    processId = host.processId;
  });
  afterAll(async () => {
    await host.close();
    folders.remove();
  });

  test.each(UNFIT.map((unfit, at) => [unfit.what, at, unfit] as const))(
    "for %s says so, and the others serve on",
    async (_what, at, { said, code }) => {
      const failure = await embed(`unfit-${at}`).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code, message: expect.stringMatching(said) });
      expect(await embed(GOOD)).toBeDefined();
      expect(host.processId).toBe(processId);
    },
  );
});
