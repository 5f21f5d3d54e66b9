import { benchAudio } from "../audio.js";
import { benchImage } from "../image.js";
import type { BenchResult } from "../measure.js";
import { DOLLARS_PER_HOUR } from "../stages.js";
import type { Config } from "../../../src/config.js";
import { readPriceTable } from "../../../src/front/ledger/index.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import { findModality } from "../../../src/modalities/registry.js";

export interface MediaOptions {
  readonly rounds: number;
  /** What an hour of this machine costs. */
  readonly dollarsPerHour?: number | undefined;
}

/** Needs an image model in MODELS_DIR that makes the sizes of the starter. */
export async function runImage(
  config: Config,
  { rounds, dollarsPerHour = DOLLARS_PER_HOUR }: MediaOptions,
): Promise<BenchResult> {
  const setup = (await setups(config))("image");
  const modality = findModality("image");
  if (setup === undefined || modality === undefined)
    throw new Error(`MODELS_DIR ${config.modelsDir} has no image model`);
  const prices = await readPriceTable(config.pricesFile);
  return await benchImage({ modality, setup, prices, rounds, dollarsPerHour });
}

/** Measures what MODELS_DIR has of speech, transcription and music. */
export async function runAudio(
  config: Config,
  { rounds, dollarsPerHour = DOLLARS_PER_HOUR }: MediaOptions,
): Promise<BenchResult> {
  const prices = await readPriceTable(config.pricesFile);
  return await benchAudio({ setupOf: await setups(config), prices, rounds, dollarsPerHour });
}

async function setups(config: Config) {
  const { threads, providers, ffmpegPath, ffprobePath, espeakPath } = config;
  const packages = await listModelPackages(config.modelsDir);
  return (modality: string) => {
    const model = packages.find((it) => it.modality === modality);
    if (model === undefined) return undefined;
    return { modelPath: model.path, threads, providers, ffmpegPath, ffprobePath, espeakPath };
  };
}
