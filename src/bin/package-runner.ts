import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Config, parseProviderOptions } from "../config.js";
import { messageOf } from "../core/errors.js";
import type { Chunk, PipelineEvent } from "../core/events.js";
import type { GraphPlacement, Modality, ModelInfo } from "../core/modality.js";
import { admitAlone } from "../runtime/process/open-models.js";
import type { InferenceHost } from "../runtime/process/protocol.js";
import type { AdoptionOptions } from "../runtime/process/adoption.js";
import { modelInfo, type ModelPackage } from "../runtime/packages/model-package.js";
import { createInferenceProcess, readProcessMemory } from "../runtime/process/process.js";
import { findModality } from "../modalities/registry.js";
import { parentDeathPrefix } from "../media/process-group.js";

/** The first run of a large model on a cold machine may be silent this long, in milliseconds. */
const STALL_MS = 600_000;
const CANCEL_MS = 2_000;

export interface RunnerParts {
  readonly findModality: (name: string) => Modality | undefined;
  /** An inference process that serves these packages; closed by whoever opens it. */
  readonly openInference: (
    modelPaths: readonly string[],
    cacheDir?: string,
    adoption?: AdoptionOptions,
  ) => InferenceHost;
}

/** The parts of the command line: every modality of this build, and a process of its own. */
export function runnerParts(config: Config): RunnerParts {
  const { threads, providers, maxHostShare, ffmpegPath, ffprobePath, espeakPath } = config;
  const entryPath = fileURLToPath(new URL("./inference-process.js", import.meta.url));
  const log = { info() {}, error() {} };
  const providerOptions = parseProviderOptions(config);
  return {
    findModality,
    openInference(modelPaths, cacheDir, adoption) {
      const programs = { ffmpegPath, ffprobePath, espeakPath };
      const execution = { threads, providers, providerOptions, maxHostShare };
      const setup = { modelPaths, ...execution, ...programs, cacheDir };
      const times = { stallMs: STALL_MS, cancelMs: CANCEL_MS };
      return createInferenceProcess({
        entryPath,
        prefix: parentDeathPrefix(),
        setup,
        ...(adoption && { adoption }),
        ...times,
        log,
      });
    },
  };
}

/** What one request came to. */
export interface Made {
  readonly output: unknown;
  /** Paths of its files by variant, readable until the runner is closed. */
  readonly files: ReadonlyMap<string, string>;
  readonly chunks: readonly Chunk[];
  /** Seconds from the request to its end, the model loaded. */
  readonly seconds: number;
}

/** One package, served without a queue. */
export interface PackageRunner {
  readonly modality: Modality;
  readonly info: ModelInfo;
  /** Of the inference process, while there is one. */
  readonly processId: number | undefined;
  /** Where its graphs ran as it made its example on another provider than the CPU. */
  readonly placements: readonly GraphPlacement[];
  /** Admits a request body and runs it. Throws the sentence that says why there was no output. */
  make(body: Record<string, unknown>, signal: AbortSignal): Promise<Made>;
  /** Ends inference and removes all files that were made. */
  close(): Promise<void>;
}

/** Loads the package; rejects with the loader's sentence where that fails. */
export async function openPackageRunner(
  model: ModelPackage,
  parts: RunnerParts,
): Promise<PackageRunner> {
  const modality = parts.findModality(model.modality);
  if (modality === undefined) throw new Error(`this build serves no ${model.modality} models`);
  const info = await modelInfo(model);
  const root = await mkdtemp(join(tmpdir(), "framemill-run-"));
  const inference = parts.openInference([model.path]);
  const close = async () => {
    await inference.close();
    await rm(root, { recursive: true, force: true });
  };
  try {
    await inference.ready();
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    modality,
    info,
    get processId() {
      return inference.processId;
    },
    placements: inference.placements?.flatMap(({ graphs }) => graphs) ?? [],
    async make(body, signal) {
      const { request, readInput } = await admitAlone({ body, modality, info });
      const id = `run_${randomUUID()}`;
      const scratchPath = await mkdtemp(join(root, "job-"));
      const job = {
        id,
        modality: modality.name,
        model: model.id,
        request,
        expiresAtMs: Number.MAX_SAFE_INTEGER,
        reportTo: "",
      };
      const startedAt = performance.now();
      const made = await collect(inference.run({ job, scratchPath, readInput }, signal));
      const seconds = (performance.now() - startedAt) / 1_000;
      modality.countUnits(request, made.output);
      return { ...made, seconds };
    },
    close,
  };
}

async function collect(events: AsyncIterable<PipelineEvent>): Promise<Omit<Made, "seconds">> {
  const files = new Map<string, string>();
  const chunks: Chunk[] = [];
  let output: unknown;
  for await (const event of events) {
    if (event.type === "output") output = event.output;
    else if (event.type === "file") files.set(event.variant, event.path);
    else if (event.type === "chunk") chunks.push(event.chunk);
  }
  if (output === undefined) throw new Error("it ended without an output");
  return { output, files, chunks };
}

/** A first run on a cold machine may load and compile for minutes. */
const LONGEST_MS = 1_200_000;

interface Canary extends Pick<PackageRunner, "placements"> {
  /** Once the model was loaded. */
  readonly seconds: number;
  /** Bytes over those of an empty inference process, at the most. */
  readonly peakBytes: number;
  /** What `measurePackage` would find; absent where it measures more than the example. */
  readonly memory?: MeasuredMemory;
}

/**
 * Runs the modality's own example through the package. Throws the sentence that says why there was no
 * output.
 */
export async function runCanary(
  model: ModelPackage,
  parts: RunnerParts,
  outer?: AbortSignal,
): Promise<Canary> {
  const inTime = AbortSignal.timeout(LONGEST_MS);
  const signal = outer ? AbortSignal.any([outer, inTime]) : inTime;
  try {
    const emptyBytes = await measureEmpty(parts);
    const runner = await openPackageRunner(model, parts);
    try {
      const { modality, info, placements, processId = 0 } = runner;
      // A small model may take less than two empty processes differ by.
      const above = (bytes: number) => Math.max(0, bytes - emptyBytes);
      const resident = above((await readProcessMemory(processId)).residentBytes);
      const { seconds } = await runner.make(modality.example(info), signal);
      const peakBytes = above((await readProcessMemory(processId)).peakBytes);
      const isWhole = casesOf(modality.name, info).every(({ name }) => name === EXAMPLE.name);
      const memory = { resident, example: peakBytes };
      return { seconds, placements, peakBytes, ...(isWhole && { memory }) };
    } finally {
      await runner.close();
    }
  } catch (cause) {
    outer?.throwIfAborted();
    throw new Error(`the canary of ${model.id} failed: ${messageOf(cause)}`, { cause });
  }
}

/** Key of model.json's `memory` → bytes over those of an empty inference process. */
type MeasuredMemory = Readonly<Record<string, number>>;

interface Case {
  /** `1280x720x4`, `1024x1024`, `60s`, or `example`. */
  readonly name: string;
  /** Over the modality's example. */
  readonly body: Record<string, unknown>;
}

const EXAMPLE: Case = { name: "example", body: {} };

/** Loads the package in a new process for each case and makes it. Throws the sentence that says why one fails. */
export async function measurePackage(
  model: ModelPackage,
  parts: RunnerParts,
  signal: AbortSignal,
): Promise<MeasuredMemory> {
  const emptyBytes = await measureEmpty(parts);
  const memory: Record<string, number> = {};
  let cases: readonly Case[] = [EXAMPLE];
  for (let at = 0; at < cases.length; at += 1) {
    signal.throwIfAborted();
    const runner = await openPackageRunner(model, parts);
    try {
      if (at === 0) cases = casesOf(runner.modality.name, runner.info);
      const loaded = await readProcessMemory(runner.processId ?? 0);
      memory["resident"] ??= Math.max(0, loaded.residentBytes - emptyBytes);
      const { name, body } = cases[at] ?? EXAMPLE;
      await runner.make({ ...runner.modality.example(runner.info), ...body }, signal);
      const { peakBytes } = await readProcessMemory(runner.processId ?? 0);
      memory[name] = Math.max(0, peakBytes - emptyBytes);
    } finally {
      await runner.close();
    }
  }
  return memory;
}

async function measureEmpty({ openInference }: RunnerParts): Promise<number> {
  const inference = openInference([]);
  try {
    await inference.ready();
    return (await readProcessMemory(inference.processId ?? 0)).residentBytes;
  } finally {
    await inference.close();
  }
}

/** Each size at the shortest and the longest duration; the example alone where a model has neither. */
function casesOf(modality: string, { sizes, minSeconds, maxSeconds }: ModelInfo): readonly Case[] {
  const isTimed = modality === "video" || modality === "music";
  const durations = isTimed
    ? [minSeconds, maxSeconds].filter((seconds) => seconds !== undefined)
    : [];
  const timed = durations.map((seconds) => ({ name: String(seconds), body: { seconds } }));
  if (sizes === undefined)
    return timed.length === 0
      ? [EXAMPLE]
      : timed.map(({ name, body }) => ({ name: `${name}s`, body }));
  return sizes.flatMap((size) =>
    timed.length === 0
      ? [{ name: size, body: { size } }]
      : timed.map(({ name, body }) => ({
          name: `${size}x${name}`,
          body: { size, ...body, ...(isLarge(size) && { quality: "high" }) },
        })),
  );
}

/** Sizes of the highest tier only. */
function isLarge(size: string): boolean {
  const [width = 0, height = 0] = size.split("x").map(Number);
  return Math.min(width, height) > 720;
}
