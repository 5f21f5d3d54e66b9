import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.js";
import type { Artifact } from "../core/artifact.js";
import type { Modality } from "../core/modality.js";
import type { InferenceHost } from "../inference/host.js";
import { modelInfo, type ModelPackage } from "../inference/model-package.js";
import { createInferenceProcess } from "../inference/process.js";
import { findModality } from "../modalities/registry.js";

/** The first run of a large model on a cold machine may be silent this long, in milliseconds. */
const STALL_MS = 600_000;
const LONGEST_MS = 2 * STALL_MS;
const CANCEL_MS = 2_000;

export interface CanaryParts {
  readonly findModality: (name: string) => Modality | undefined;
  /** Inference that serves the package alone; closed by the canary. */
  readonly openInference: (modelPath: string) => InferenceHost;
}

/** The parts of the command line: every modality of this build, and a process of its own. */
export function canaryParts(config: Config): CanaryParts {
  const { threads, ffmpegPath, ffprobePath, espeakPath } = config;
  const entryPath = fileURLToPath(new URL("./inference-process.js", import.meta.url));
  const log = { info() {}, error() {} };
  return {
    findModality,
    openInference(modelPath) {
      const setup = { modelPaths: [modelPath], threads, ffmpegPath, ffprobePath, espeakPath };
      return createInferenceProcess({
        entryPath,
        setup,
        stallMs: STALL_MS,
        cancelMs: CANCEL_MS,
        log,
      });
    },
  };
}

/**
 * Runs the modality's own example through the package; returns the seconds it took once the model was
 * loaded. Throws the sentence that says why there was no output.
 */
export async function runCanary(
  model: ModelPackage,
  parts: CanaryParts,
  outer?: AbortSignal,
): Promise<number> {
  const modality = parts.findModality(model.modality);
  if (modality === undefined) throw new Error(`this build serves no ${model.modality} models`);
  const inTime = AbortSignal.timeout(LONGEST_MS);
  const signal = outer ? AbortSignal.any([outer, inTime]) : inTime;
  const inputs = new Map<string, Uint8Array>();
  const request = await admitExample(model, modality, inputs);
  const scratchPath = await mkdtemp(join(tmpdir(), "framemill-canary-"));
  const inference = parts.openInference(model.path);
  try {
    await inference.ready();
    const startedAt = performance.now();
    const job = {
      id: `canary_${randomUUID()}`,
      modality: modality.name,
      model: model.id,
      request,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
      reportTo: "",
    };
    const readInput = async ({ id }: Artifact) => inputs.get(id) ?? new Uint8Array();
    let output: unknown;
    for await (const event of inference.run({ job, scratchPath, readInput }, signal)) {
      if (event.type === "output") output = event.output;
    }
    if (output === undefined) throw new Error("it ended without an output");
    modality.countUnits(request, output);
    return (performance.now() - startedAt) / 1_000;
  } catch (cause) {
    outer?.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the canary of ${model.id} failed: ${reason}`, { cause });
  } finally {
    await inference.close();
    await rm(scratchPath, { recursive: true, force: true });
  }
}

async function admitExample(
  model: ModelPackage,
  modality: Modality,
  inputs: Map<string, Uint8Array>,
): Promise<unknown> {
  const info = await modelInfo(model);
  const body = { model: model.id, ...modality.example(info) };
  return modality.admit(body, {
    model: info,
    path: modality.endpoint.path,
    async saveInput(bytes, mediaType) {
      const id = randomUUID();
      inputs.set(id, bytes);
      return { id, variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
    },
    findEarlier: () => Promise.resolve(undefined),
  });
}
