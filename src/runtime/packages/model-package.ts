import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ModelInfo, PipelineSetup } from "../../core/modality.js";
import { openGraphs, type Graphs, type GraphsSetup } from "../ort/graphs.js";
import { mergeOptions } from "../ort/providers.js";
import { createFileChecker, type FileChecker, type StatedFile } from "./checked-files.js";
import { parseJson, parseSettings } from "./parse-settings.js";

/** Weights below which a run is over before a second thread has woken (measured on two cores). */
const SMALL_BYTES = 16 * 1024 * 1024;

/** Threads for graphs that are run for every token or every short text, by the size of their weights. */
export function threadsFor({ files }: ModelPackage, role: string, threads: number): number {
  const weights = Object.entries(files).filter(
    ([name]) => name === role || name.startsWith(`${role}-data`),
  );
  const byteLength = weights.reduce((sum, [, file]) => sum + file.byteLength, 0);
  return byteLength < SMALL_BYTES ? 1 : threads;
}

const object = z.record(z.string(), z.unknown());

/** Writes fields of a package's model.json anew, all or nothing; the others stay as they are. */
export async function updateManifest(
  folder: string,
  fields: Partial<Pick<ModelManifest, "files" | "memory">>,
): Promise<void> {
  const path = join(folder, "model.json");
  const before = object.parse(JSON.parse(await readFile(path, "utf8")));
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ ...before, ...fields }, null, 2)}\n`);
  await rename(draft, path);
}

const file = z.object({
  /** Inside the folder: external data beside a graph is found by name only. */
  path: z
    .string()
    .regex(
      /^(?!.*(^|\/)\.\.?(\/|$))[\w.+-]+(\/[\w.+-]+)*$/,
      "must name a file of the model's own folder",
    ),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits"),
  byteLength: z.int().positive(),
});

/**
 * What a package may ask of providers: how its graphs are computed. Files, libraries, devices and memory are
 * the operator's.
 */
const PACKAGE_OPTIONS = new Set([
  "cudnn_conv1d_pad_to_nc1d",
  "cudnn_conv_algo_search",
  "cudnn_conv_use_max_workspace",
  "enable_cuda_graph",
  "enable_skip_layer_norm_strict_mode",
  "fuse_conv_bias",
  "prefer_nhwc",
  "sdpa_kernel",
  "use_tf32",
  "trt_bf16_enable",
  "trt_builder_optimization_level",
  "trt_cuda_graph_enable",
  "trt_fp16_enable",
  "trt_int8_enable",
  "trt_layer_norm_fp32_fallback",
  "trt_profile_max_shapes",
  "trt_profile_min_shapes",
  "trt_profile_opt_shapes",
  "enableInt64",
  "preferredLayout",
]);

/** Provider → its options, by the names that ONNX Runtime documents. */
const providerOptions = z
  .record(z.string(), z.record(z.string(), z.string()))
  .superRefine((given, context) => {
    for (const name of Object.values(given).flatMap((options) => Object.keys(options))) {
      const message = `a package may not set ${name}: see PROVIDER_OPTIONS`;
      if (!PACKAGE_OPTIONS.has(name)) context.addIssue({ code: "custom", message });
    }
  })
  .optional();

/** model.json: what a model is, where its graphs are and what its pipeline must know. */
const manifest = z.object({
  id: z.string().regex(/^[\w.-]+$/),
  modality: z.string(),
  pipeline: z.string(),
  files: z.record(z.string(), file),
  tokenizer: z.unknown().optional(),
  execution: z
    .object({
      providers: z.array(z.string()).min(1),
      providerOptions,
      /** Jobs the pipeline runs at once: 1, or as many as it batches. */
      concurrency: z.int().positive().default(1),
      /** Jobs taken beside each of those, whose first stages go along with its last ones. */
      ahead: z.int().nonnegative().optional(),
      /** `own`: a light model, whose jobs wait for no other model's. */
      slot: z.enum(["shared", "own"]).optional(),
    })
    .loose(),
  shapes: z.record(z.string(), z.unknown()),
  sampler: z.unknown().optional(),
  limits: z
    .object({
      minSeconds: z.number().optional(),
      maxSeconds: z.number().optional(),
      contextTokens: z.int().positive().optional(),
    })
    .loose(),
  /** How manifests of what it makes call it; by its id otherwise. */
  provenance: z
    .strictObject({
      name: z.string().optional(),
      version: z.string().optional(),
      maker: z.string().optional(),
      url: z.url().optional(),
    })
    .optional(),
  /** Bytes over those of an empty inference process: `resident` once loaded, else the peak of a case (`1280x720x4`). */
  memory: z.record(z.string(), z.int().nonnegative()).nullish(),
  licence: z.string(),
  source: z.string(),
  card: z.string(),
});

export type ModelManifest = z.infer<typeof manifest>;

/** How graphs are run here, where that is not left to the package. */
export type Execution = Pick<PipelineSetup, "providers" | "providerOptions" | "onOpen">;

export interface ModelPackage extends ModelManifest {
  readonly execution: ModelManifest["execution"] & Pick<Execution, "onOpen">;
  /** The folder. */
  readonly path: string;
}

/**
 * Reads model.json of a folder; `providers` replace those that it names, options stand over its own.
 * Throws an error that names the file and the field.
 */
export async function loadModelPackage(
  path: string,
  { providers, providerOptions: options, onOpen }: Execution = {},
): Promise<ModelPackage> {
  const manifestPath = join(path, "model.json");
  const stated = parseJson(manifest, await readFile(manifestPath, "utf8"), manifestPath);
  const { execution } = stated;
  const chosen = {
    providers: providers === undefined ? execution.providers : [...providers],
    providerOptions: mergeOptions(execution.providerOptions, options),
    onOpen,
  };
  return { ...stated, execution: { ...execution, ...chosen }, path };
}

/** The packages of every folder that has a model.json. */
export async function listModelPackages(modelsDir: string): Promise<ModelPackage[]> {
  const folders = await listModelFolders(modelsDir);
  return Promise.all(folders.map((path) => loadModelPackage(path)));
}

/** Paths of the folders that have a model.json, read or not. */
export async function listModelFolders(modelsDir: string): Promise<string[]> {
  const folders = await readdir(modelsDir, { withFileTypes: true });
  const paths = folders
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(modelsDir, name));
  const found = await Promise.all(
    paths.map((path) => stat(join(path, "model.json")).catch(() => null)),
  );
  return paths.filter((_, index) => found[index]);
}

/** Checks every file's length and SHA-256. Throws an error that names the first wrong file. */
export async function verifyModelPackage(
  model: ModelPackage,
  checker?: FileChecker,
): Promise<void> {
  const reader = checker ?? (await createFileChecker());
  for (const stated of statedFiles(model)) await reader.check(stated);
}

/** What model.json states of its files, in their real places. */
export function statedFiles(model: ModelPackage): (StatedFile & { readonly role: string })[] {
  return Object.entries(model.files).map(([role, { path, sha256, byteLength }]) => ({
    role,
    path: join(model.path, path),
    sha256,
    byteLength,
  }));
}

/** What an unmeasured model holds, in lengths of its files: weights, a copy as the kernels want them, and work. */
const UNMEASURED_SHARE = 3;

/** Bytes that a package holds while it works, as measured, or guessed by its files. */
export function workingBytes({ memory, files }: ModelPackage): {
  readonly byteLength: number;
  readonly isMeasured: boolean;
} {
  const measured = Object.values(memory ?? {});
  if (measured.length > 0) return { byteLength: Math.max(...measured), isMeasured: true };
  return { byteLength: UNMEASURED_SHARE * bytesOfFiles({ files }), isMeasured: false };
}

export function bytesOfFiles({ files }: Pick<ModelPackage, "files">): number {
  return Object.values(files).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Paths of the graphs with these roles. Throws where the package lacks one. */
export function graphPaths(model: ModelPackage, roles: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    roles.map((role) => {
      const entry = model.files[role];
      if (entry === undefined) throw new Error(`${model.path}/model.json has no file for ${role}`);
      return [role, join(model.path, entry.path)];
    }),
  );
}

/** The graphs with these roles, and how they are run here. Throws where the package lacks one. */
export function graphsSetup(
  model: ModelPackage,
  roles: readonly string[],
): Omit<GraphsSetup, "threads"> {
  const { providers, providerOptions: options, onOpen } = model.execution;
  const execution = { providers, providerOptions: options, onOpen };
  const repeats = roles.filter((role) => role.startsWith("denoiser"));
  return { graphs: graphPaths(model, roles), ...execution, repeats };
}

const bounds = z.object({
  sizes: z.array(z.tuple([z.int(), z.int()])).exactOptional(),
  voices: z.array(z.string()).exactOptional(),
  dimensions: z.int().positive().exactOptional(),
  prompts: z.record(z.string(), z.string()).exactOptional(),
  defaultPrompt: z.string().exactOptional(),
  lyrics: z.boolean().exactOptional(),
  reads: z.array(z.enum(["text", "image"])).exactOptional(),
  tiers: z.array(z.string()).min(1).exactOptional(),
});

/** What the front needs of a package. */
export async function modelInfo(model: ModelPackage): Promise<ModelInfo> {
  const { mtimeMs } = await stat(join(model.path, "model.json"));
  const { minSeconds, maxSeconds, contextTokens } = model.limits;
  const { sizes, ...told } = bounds.parse(model.shapes);
  return {
    id: model.id,
    modality: model.modality,
    createdAtSeconds: Math.floor(mtimeMs / 1_000),
    concurrency: model.execution.concurrency,
    ...(model.execution.ahead !== undefined && { ahead: model.execution.ahead }),
    ...(model.execution.slot === "own" && { hasOwnSlot: true }),
    ...(model.provenance !== undefined && { provenance: model.provenance }),
    ...(minSeconds !== undefined && { minSeconds }),
    ...(maxSeconds !== undefined && { maxSeconds }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...told,
    ...(sizes && { sizes: sizes.map(([height, width]) => `${width}x${height}`) }),
  };
}

/** Text of the file with this role. Throws where the package lacks it. */
export async function readModelText(model: ModelPackage, role: string): Promise<string> {
  const { [role]: path = "" } = graphPaths(model, [role]);
  return await readFile(path, "utf8");
}

/**
 * The parsed file with this role; `absent` is parsed where the package has none and one is given. Throws a
 * sentence that names the file and the field.
 */
export async function readModelJson<T>(
  model: ModelPackage,
  role: string,
  schema: z.ZodType<T>,
  absent?: unknown,
): Promise<T> {
  const path = `${model.path}/${model.files[role]?.path}`;
  if (model.files[role] === undefined && absent !== undefined)
    return parseSettings(schema, absent, path);
  return parseJson(schema, await readModelText(model, role), path);
}

/** Opens the graphs with these roles in a thread of their own. */
export function openModelGraphs(
  model: ModelPackage,
  roles: readonly string[],
  { threads, onRun }: Pick<PipelineSetup, "threads" | "onRun">,
): Promise<Graphs> {
  return openGraphs({ ...graphsSetup(model, roles), threads }, onRun);
}
