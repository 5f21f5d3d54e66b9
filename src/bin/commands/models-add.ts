import { z } from "zod";
import type { Config } from "../../config.js";
import { addModel, type AddModelOptions } from "../../models/add-model.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { runnerParts } from "../package-runner.js";
import { untilInterrupted } from "./interrupt.js";
import { tryModel } from "./models.js";

export interface AddOptions {
  readonly id?: string;
  readonly dtype?: string;
  /** Further folders. */
  readonly with?: readonly string[];
  readonly licence?: string;
  /** Modality of a text encoder whose files leave it open. */
  readonly as?: string;
  /** Execution providers, comma-separated. */
  readonly providers?: string;
  /** JSON object: fields over model.json's `shapes`. */
  readonly shapes?: string;
  /** False: no inference is run. */
  readonly canary?: boolean;
}

/** Makes a package of a published model's folder and tries it; nothing is left of one that fails. */
export async function addModels(
  folder: string,
  options: AddOptions,
  config: Config,
): Promise<void> {
  await untilInterrupted("stopped; nothing was added", (signal) =>
    addAndTry(folder, options, config, {
      signal,
      ...(options.with && { extra: options.with }),
    }),
  );
}

/** Adds the package, tries it before it is visible, and prints what was found. */
export async function addAndTry(
  folder: string,
  options: AddOptions,
  config: Config,
  further: Partial<AddModelOptions> & { readonly signal: AbortSignal },
): Promise<ModelPackage> {
  const { id, dtype, licence, as: modality, providers, shapes } = options;
  const parts = options.canary === false ? undefined : runnerParts(config);
  let found = "";
  const model = await addModel(folder, {
    modelsDir: config.modelsDir,
    ...(id !== undefined && { id }),
    ...(dtype !== undefined && { dtype }),
    ...(licence !== undefined && { licence }),
    ...(modality !== undefined && { modality }),
    ...(shapes !== undefined && { shapes: parseShapes(shapes) }),
    ...(providers !== undefined && { providers: providers.split(",") }),
    ...further,
    async verify(made) {
      found = await tryModel(made, { threads: config.threads, parts, signal: further.signal });
    },
  });
  const { pipeline } = model;
  process.stdout.write(
    `${model.id}: ${model.modality} (${pipeline}), licence ${model.licence}; ${found}\n`,
  );
  return model;
}

function parseShapes(text: string): Readonly<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`--shapes must be a JSON object, got ${text}`, { cause });
  }
}
