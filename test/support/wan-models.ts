import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { GraphRun, PipelineSetup } from "#framemill/core/modality.js";
import { addModel } from "#framemill/models/add-model.js";
import { denoise, type Schedule } from "#framemill/models/wan/denoise.js";
import type { LatentDims, EncodedStates } from "#framemill/models/wan/denoiser.js";
import { openWanModel, type WanModel } from "#framemill/models/wan/model.js";
import { createModelFolders } from "./model-folders.js";
import { type TinyWan, tinyWan } from "./tiny-wan.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

/** What the operator of a package writes into model.json. */
export interface WanWishes {
  readonly tiny?: TinyWan;
  readonly shapes?: Readonly<Record<string, unknown>>;
  readonly sampler?: object;
  /** Lies in the folder as its sound bed, a WAV file. */
  readonly soundBed?: Uint8Array;
}

/** Tokens of every prompt of these models. */
export const PROMPT_TOKENS = 16;

/** Tiny models of Wan, added and opened; `runs` are all runs of their graphs. */
export function createWanModels() {
  const folders = createModelFolders();
  const runs: GraphRun[] = [];
  const opened: WanModel[] = [];
  let count = 0;

  /** A package by `models add`, then edited as its operator would. */
  async function add({
    tiny = {},
    shapes = {},
    sampler,
    soundBed,
  }: WanWishes): Promise<PipelineSetup> {
    const id = `wan-${(count += 1)}`;
    const source = folders.write(`source-${id}`, {
      ...tinyWan(tiny),
      ...(soundBed && { "sound_bed.wav": soundBed }),
    });
    const { path } = await addModel(source, {
      modelsDir: folders.modelsDir,
      id,
      shapes: { native: [32, 48], promptTokens: PROMPT_TOKENS, ...shapes },
    });
    const manifest = JSON.parse(await readFile(join(path, "model.json"), "utf8")) as object;
    const edited = { ...manifest, ...(sampler && { sampler }) };
    await writeFile(join(path, "model.json"), JSON.stringify(edited));
    const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
    return { modelPath: path, threads: 1, onRun: (run) => void runs.push(run), ...programs };
  }
  return {
    runs,
    folders,
    add,
    async open(wishes: WanWishes): Promise<WanModel> {
      const setup = await add(wishes);
      const model = await openWanModel(await loadModelPackage(setup.modelPath), setup);
      opened.push(model);
      return model;
    },
    async close(): Promise<void> {
      for (const model of opened) await model.close();
      folders.remove();
    },
  };
}

interface Walk {
  readonly model: Pick<WanModel, "denoisers">;
  readonly schedule: Schedule;
  readonly dims: LatentDims;
  readonly prompts: readonly [EncodedStates, ...EncodedStates[]];
  readonly seed: number;
  readonly onStep?: () => void;
}

/** The latents after the last step. */
export async function walk({ onStep = () => {}, ...given }: Walk): Promise<Float32Array> {
  const steps = denoise({ ...given, signal: new AbortController().signal });
  let next = await steps.next();
  for (; next.done !== true; next = await steps.next()) onStep();
  return next.value;
}
