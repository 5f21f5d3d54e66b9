import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inParallel } from "../../core/async/in-parallel.js";
import type {
  GraphPlacement,
  Modality,
  ModelInfo,
  Pipeline,
  PipelineSetup,
  ProviderOptions,
} from "../../core/modality.js";
import { setThreads } from "../ort/api.js";
import { chooseProviders, describeTimes } from "../ort/choose-providers.js";
import { useGraphCache } from "../ort/graph-cache.js";
import { describePlacement, hostShare } from "../ort/placement.js";
import { checkProviderNames, mergeOptions } from "../ort/providers.js";
import { createFileChecker, type FileChecker, openCacheFolder } from "../packages/checked-files.js";
import {
  type Execution,
  loadModelPackage,
  modelInfo,
  type ModelPackage,
  statedFiles,
  bytesOfFiles,
  workingBytes,
} from "../packages/model-package.js";
import type { InferenceReply, InferenceSetup, ModelPlacement, Opens } from "./protocol.js";
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
  /** Which models are loaded now, and whether they must make their modality's example. */
  readonly opens: Opens;
  readonly findModality: FindModality;
  readonly send: (reply: InferenceReply) => void;
}

export interface OpenModels {
  readonly packages: readonly ModelPackage[];
  readonly models: ResidentModels<AnyPipeline>;
  /** Execution providers that the models run on. */
  readonly providers: readonly string[];
  /** Why those, where they were chosen by their times; else empty. */
  readonly choice: string;
  readonly placements: readonly ModelPlacement[];
}

/**
 * Checks every package's files and loads those that fit, in their order; where models are to prove
 * themselves, each makes its example. A process that takes the place of one that did so checks and loads
 * each as it is used. Throws the sentence that says what is wrong.
 */
export async function openModels(options: OpenModelsOptions): Promise<OpenModels> {
  const { setup, findModality } = options;
  const { cacheDir, modelIdleMs = 0 } = setup;
  const { modelMemoryBytes: budgetBytes = Number.POSITIVE_INFINITY } = setup;
  setThreads(setup.threads);
  const providerOptions = optionsOf(setup);
  const chosen = setup.providers && (await chooseProviders(setup.providers, providerOptions));
  const execution = { providers: chosen?.providers, providerOptions };
  if (cacheDir !== undefined) await openCacheFolder(cacheDir);
  useGraphCache(cacheDir);
  const checker = await createFileChecker(cacheDir);
  const packages = await Promise.all(
    setup.modelPaths.map(async (path) => {
      const model = await loadModelPackage(path, execution);
      return { model, modality: modalityOf(model, findModality), watch: createGraphWatch() };
    }),
  );
  const used = [
    ...new Set(chosen?.providers ?? packages.flatMap(({ model }) => model.execution.providers)),
  ];
  refuseDevice(setup, used);
  const placed = packages.map((found) =>
    residentModel(found, { ...options, execution, checker, budgetBytes }),
  );
  const onEmpty = () => options.send({ type: "idle" });
  const models = createResidentModels(placed, budgetBytes, { idleMs: modelIdleMs, onEmpty });
  const fitting = fitted(placed, budgetBytes);
  const placements: ModelPlacement[] = [];
  if (options.opens === "on-use") {
    for (const { watch } of packages) await watch.end();
  } else {
    await inParallel(packages, undefined, async ({ model, modality, watch }) => {
      const { id } = model;
      const isProven = mustProve(model, options);
      if (isProven) {
        await models.use(id, (pipeline) => runExample(model, modality, pipeline));
        const placement = { model: id, graphs: await watch.end() };
        refuseHostShare(placement, setup.maxHostShare);
        if (placement.graphs.length > 0) placements.push(placement);
      }
      if (isProven || fitting.has(id)) await models.prove(id);
      else for (const file of statedFiles(model)) await checker.check(file);
    });
    await checker.save();
  }
  return {
    packages: packages.map(({ model }) => model),
    models,
    providers: used,
    choice: chosen === undefined ? "" : describeTimes(chosen),
    placements,
  };
}

interface Served {
  readonly model: ModelPackage;
  readonly modality: Modality;
  readonly watch: GraphWatch;
}

/** Graphs of which it is noted where their nodes run, until the model has made its example. */
interface GraphWatch {
  readonly onOpen: PipelineSetup["onOpen"];
  end(): Promise<readonly GraphPlacement[]>;
}

function createGraphWatch(): GraphWatch {
  const readers: (() => Promise<GraphPlacement>)[] = [];
  let hasEnded = false;
  return {
    get onOpen() {
      return hasEnded
        ? undefined
        : (read: () => Promise<GraphPlacement>) => void readers.push(read);
    },
    async end() {
      hasEnded = true;
      return await Promise.all(readers.map((read) => read()));
    },
  };
}

/** Throws a sentence that names the graph, the share and what the CPU ran of it. */
function refuseHostShare({ model, graphs }: ModelPlacement, most = 1): void {
  const worst = graphs.find((graph) => hostShare(graph) > most);
  if (worst === undefined) return;
  const percent = (100 * hostShare(worst)).toFixed(1);
  throw new Error(
    `${model}: ${percent} % of a graph's nodes run on the CPU, MAX_HOST_SHARE allows ${100 * most} %: ${describePlacement(worst)}`,
  );
}

/** Where engines that TensorRT compiles are kept from start to start. */
function engineCache(folder: string): ProviderOptions {
  return {
    tensorrt: {
      trt_engine_cache_enable: "1",
      trt_engine_cache_path: folder,
      trt_timing_cache_enable: "1",
      trt_timing_cache_path: folder,
    },
  };
}

/** Those of the configuration, over what follows from it. */
function optionsOf({ providerOptions = {}, cacheDir, device }: InferenceSetup): ProviderOptions {
  checkProviderNames(providerOptions);
  const number = device === undefined ? undefined : { device_id: String(device) };
  return mergeOptions(
    cacheDir === undefined ? {} : engineCache(join(cacheDir, "tensorrt")),
    providerOptions,
    number && { cuda: number, tensorrt: number },
  );
}

function refuseDevice({ device }: InferenceSetup, used: readonly string[]): void {
  if (device === undefined || used.some((name) => name === "cuda" || name === "tensorrt")) return;
  throw new Error(
    `DEVICES numbers GPUs of cuda and tensorrt, the models run on ${used.join(", ")}`,
  );
}

function modalityOf(model: ModelPackage, findModality: FindModality): Modality {
  const modality = findModality(model.modality);
  if (modality !== undefined) return modality;
  throw new Error(`${model.path}/model.json: unknown modality ${model.modality}`);
}

/** On the CPU what loads runs; on another device its first run compiles kernels, and may fail. */
function mustProve({ execution }: ModelPackage, { setup, opens }: OpenModelsOptions): boolean {
  const { warmUp = "auto", maxHostShare = 1 } = setup;
  if (opens === "proven" || warmUp === "always") return true;
  const isWanted = warmUp === "auto" || maxHostShare < 1;
  return isWanted && execution.providers.some((name) => name !== "cpu");
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
  readonly execution: Execution;
  readonly checker: FileChecker;
  readonly budgetBytes: number;
}

function residentModel(
  { model, modality, watch }: Served,
  options: LoadOptions,
): ResidentModel<AnyPipeline> {
  const { id } = model;
  const { byteLength, isMeasured } = workingBytes(model);
  const { setup, execution, checker, budgetBytes, send } = options;
  const { threads, promptCacheBytes, isLive, ffmpegPath, ffprobePath, espeakPath } = setup;
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
        ...execution,
        onOpen: watch.onOpen,
        promptCacheBytes: promptCacheBytes ?? defaultPromptCache(model),
        isLive,
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

const [LEAST_PROMPT_CACHE, MOST_PROMPT_CACHE] = [2 ** 26, 2 ** 30];

/** What is remembered beside a model grows with it. */
function defaultPromptCache(model: ModelPackage): number {
  return Math.min(MOST_PROMPT_CACHE, Math.max(LEAST_PROMPT_CACHE, bytesOfFiles(model)));
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
