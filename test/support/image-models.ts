import { tmpdir } from "node:os";
import type { PipelineContext } from "#framemill/core/modality.js";
import { addModel } from "#framemill/models/add-model.js";
import { type ImageModel, openImageModel } from "#framemill/models/image-model.js";
import { planImages } from "#framemill/modalities/image/pipeline.js";
import { parseImageRequest } from "#framemill/modalities/image/request.js";
import { createModelFolders } from "./model-folders.js";
import { ID_SHARE, type TinyDiffusion, tinyDiffusion } from "./tiny-diffusion.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
const info = { id: "model-1", modality: "image", createdAtSeconds: 0, concurrency: 1 };
const context: PipelineContext = {
  signal: new AbortController().signal,
  scratchPath: tmpdir(),
  readInput: () => Promise.reject(new Error("no inputs")),
};

/** What is asked for where a test says nothing else. */
export const PROMPT = "a red boat";

/** Tiny models for pictures, added and opened. */
export function createImageModels() {
  const folders = createModelFolders();
  const opened: ImageModel[] = [];
  let count = 0;
  return {
    folders,
    async open(tiny: TinyDiffusion): Promise<ImageModel> {
      const source = folders.write(`model-${(count += 1)}`, tinyDiffusion(tiny));
      const { path: modelPath } = await addModel(source, { modelsDir: folders.modelsDir });
      const model = await openImageModel(await loadModelPackage(modelPath), {
        modelPath,
        threads: 1,
        ...programs,
      });
      opened.push(model);
      return model;
    },
    async close(): Promise<void> {
      for (const model of opened) await model.close();
      folders.remove();
    },
  };
}

/** The plan of a picture of 128 × 64 pixels: 16 columns and 8 rows of latents. */
export async function planPicture(model: ImageModel, body: object) {
  const request = parseImageRequest({ prompt: PROMPT, size: "128x64", ...body }, info, () => 1);
  return (await planImages(model, request, context)).plan;
}

/** Text states [tokens, features] of an encoder that multiplies ids with `weight`. */
export function statesOf(ids: readonly number[], features: number, weight: number): number[][] {
  return ids.map((id) => filled(features, (id * weight) / ID_SHARE));
}

/** One row: the mean of such states over the tokens. */
export function pooledOf(ids: readonly number[], features: number, weight: number): number[] {
  const mean = ids.reduce((sum, id) => sum + id, 0) / ids.length;
  return filled(features, (mean * weight) / ID_SHARE);
}

export function filled(length: number, value: number): number[] {
  return Array.from({ length }, () => value);
}
