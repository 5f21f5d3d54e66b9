import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inParallel } from "../../core/async/in-parallel.js";
import type { Modality, ModelInfo, Pipeline, PipelineSetup } from "../../core/modality.js";
import { useGraphCache } from "../ort/graph-cache-folder.js";
import { createFileChecker, type FileChecker, openCacheFolder } from "../packages/checked-files.js";
import {
  loadModelPackage,
  modelInfo,
  type ModelPackage,
  statedFiles,
  workingBytes,
} from "../packages/model-package.js";
import type { InferenceReply, InferenceSetup } from "./protocol.js";
import {
  createResidentModels,
  type ResidentModel,
  type ResidentModels,
} from "./resident-models.js";

/** The models of an inference process, loaded within its memory budget. */

export type FindModality = (name: string) => Modality | undefined;
type AnyPipeline = Pipeline<unknown, unknown>;

interface OpenModelsOptions {
  readonly setup: InferenceSetup;
  /** Whether each model must make its modality's example, whatever the setup says. */
  readonly proves: boolean;
  readonly findModality: FindModality;
  readonly send: (reply: InferenceReply) => void;
}

export interface OpenModels {
  readonly packages: readonly ModelPackage[];
  readonly models: ResidentModels<AnyPipeline>;
  /** Execution providers that the models run on. */
  readonly providers: readonly string[];
}

/**
 * Checks every package's files and loads those that fit, in their order; where models are to prove
 * themselves, each makes its example. Throws the sentence that says what is wrong.
 */
export async function openModels(options: OpenModelsOptions): Promise<OpenModels> {
  const { setup, findModality } = options;
  const { cacheDir, modelMemoryBytes: budgetBytes = Number.POSITIVE_INFINITY } = setup;
  const providers = setup.providers && (await choose(setup.providers));
  if (cacheDir !== undefined) await openCacheFolder(cacheDir);
  useGraphCache(cacheDir);
  const checker = await createFileChecker(cacheDir);
  const packages = await Promise.all(
    setup.modelPaths.map(async (path) => {
      const model = await loadModelPackage(path, providers);
      return { model, modality: modalityOf(model, findModality) };
    }),
  );
  const placed = packages.map((found) =>
    residentModel(found, { ...options, providers, checker, budgetBytes }),
  );
  const models = createResidentModels(placed, budgetBytes);
  const fitting = fitted(placed, budgetBytes);
  await inParallel(packages, undefined, async ({ model, modality }) => {
    const { id } = model;
    if (mustProve(model, options)) {
      await models.use(id, (pipeline) => runExample(model, modality, pipeline));
    } else if (fitting.has(id)) await models.use(id, () => Promise.resolve());
    else for (const file of statedFiles(model)) await checker.check(file);
  });
  await checker.save();
  const used = packages.flatMap(({ model }) => model.execution.providers);
  return {
    packages: packages.map(({ model }) => model),
    models,
    providers: [...new Set(providers ?? used)],
  };
}

/** ONNX Runtime is loaded here for this alone: it is the threads' that open graphs, which load it meanwhile. */
async function choose(names: readonly string[]): Promise<readonly string[]> {
  const { chooseProviders } = await import("../ort/providers.js");
  return await chooseProviders(names);
}

interface Served {
  readonly model: ModelPackage;
  readonly modality: Modality;
}

function modalityOf(model: ModelPackage, findModality: FindModality): Modality {
  const modality = findModality(model.modality);
  if (modality !== undefined) return modality;
  throw new Error(`${model.path}/model.json: unknown modality ${model.modality}`);
}

/** On the CPU what loads runs; on another device its first run compiles kernels, and may fail. */
function mustProve({ execution }: ModelPackage, { setup, proves }: OpenModelsOptions): boolean {
  const { warmUp = "auto" } = setup;
  if (proves || warmUp === "always") return true;
  return warmUp === "auto" && execution.providers.some((name) => name !== "cpu");
}

/** Ids of the first models that fit into the budget together. */
function fitted(
  models: readonly ResidentModel<AnyPipeline>[],
  budgetBytes: number,
): ReadonlySet<string> {
  let held = 0;
  const fits = models.filter(({ byteLength }) => {
    const isRoom = held + byteLength <= budgetBytes;
    if (isRoom) held += byteLength;
    return isRoom;
  });
  return new Set(fits.map(({ id }) => id));
}

interface LoadOptions extends OpenModelsOptions {
  readonly providers: readonly string[] | undefined;
  readonly checker: FileChecker;
  readonly budgetBytes: number;
}

function residentModel(
  { model, modality }: Served,
  options: LoadOptions,
): ResidentModel<AnyPipeline> {
  const { id } = model;
  const { byteLength, isMeasured } = workingBytes(model);
  const { setup, providers, checker, budgetBytes, send } = options;
  const { threads, promptCacheBytes, ffmpegPath, ffprobePath, espeakPath } = setup;
  const programs = { ffmpegPath, ffprobePath, espeakPath };
  return {
    id,
    // A guess alone refuses no model.
    byteLength: isMeasured ? byteLength : Math.min(byteLength, budgetBytes),
    async load() {
      const startedAt = performance.now();
      const create = await modality.loadPipeline();
      const pipelineSetup: PipelineSetup = {
        modelPath: model.path,
        threads,
        providers,
        promptCacheBytes,
        ...programs,
      };
      const pipeline = await createChecked(model, checker, () => create(pipelineSetup));
      const loadMs = performance.now() - startedAt;
      send({ type: "model-loaded", model: id, loadMs, processBytes: process.memoryUsage.rss() });
      return pipeline;
    },
    async unload(pipeline) {
      await pipeline.close();
      send({ type: "model-unloaded", model: id, processBytes: process.memoryUsage.rss() });
    },
  };
}

/** Weights that lie beside a graph: numbers that nothing parses. */
const WEIGHTS = /-data(-\d+)?$/;

/**
 * Nothing is parsed before its hash was seen to agree; weights beside a graph are hashed while it opens,
 * and the pipeline is given out once they agree, too.
 */
async function createChecked(
  model: ModelPackage,
  checker: FileChecker,
  create: () => Promise<AnyPipeline>,
): Promise<AnyPipeline> {
  const files = statedFiles(model);
  const isWeights = ({ role, path }: { role: string; path: string }) =>
    WEIGHTS.test(role) && !path.endsWith(".onnx");
  for (const file of files) if (!isWeights(file)) await checker.check(file);
  const creating = create();
  try {
    for (const file of files) if (isWeights(file)) await checker.check(file);
  } catch (thrown) {
    await creating.then((pipeline) => pipeline.close()).catch(() => {});
    throw thrown;
  }
  return await creating;
}

/** Runs the modality's own example through a loaded pipeline and throws its files away. Rejects where it fails. */
async function runExample(
  model: ModelPackage,
  modality: Modality,
  pipeline: Pipeline<unknown, unknown>,
): Promise<void> {
  const info = await modelInfo(model);
  const body = modality.example(info);
  const { request, readInput } = await admitAlone({ body, modality, info });
  const scratchPath = await mkdtemp(join(tmpdir(), "framemill-canary-"));
  try {
    const { signal } = new AbortController();
    for await (const event of pipeline.run(request, { signal, scratchPath, readInput }))
      if (event.type === "output") return;
    throw new Error("it ended without an output");
  } finally {
    await rm(scratchPath, { recursive: true, force: true });
  }
}

interface Admission {
  readonly body: Record<string, unknown>;
  readonly modality: Modality;
  readonly info: ModelInfo;
}

interface Admitted {
  /** What a pipeline runs. */
  readonly request: unknown;
  /** Reads what was sent along with it. */
  readonly readInput: (artifact: { readonly id: string }) => Promise<Uint8Array>;
}

/** Admits a request body for `info`'s model without a front. */
export async function admitAlone({ body, modality, info }: Admission): Promise<Admitted> {
  const inputs = new Map<string, Uint8Array>();
  const whole = { model: info.id, ...body };
  const request = await modality.admit(whole, {
    model: info,
    path: modality.endpoint.path,
    async saveInput(bytes, mediaType) {
      const id = randomUUID();
      inputs.set(id, bytes);
      return { id, variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
    },
    findEarlier: () => Promise.resolve(undefined),
  });
  const readInput: Admitted["readInput"] = async ({ id }) => inputs.get(id) ?? new Uint8Array();
  return { request, readInput };
}
