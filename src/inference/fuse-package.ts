import { rename, rm, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { hashFile } from "./checked-files.js";
import { writeSamplerGraph } from "./diffusion/sampler-graph.js";
import { updateManifest } from "./manifest-file.js";
import type { ModelPackage } from "./model-package.js";

const PIPELINE = "flow-video";
const FILE_NAME = "sampler.onnx";

/**
 * Makes the sampler of a video package: one graph for several denoising steps, beside the denoiser whose
 * weights it holds, or names where they lie in a file of their own. model.json changes once it is whole.
 * The package's files must have been verified. Throws a sentence where its denoiser is of another layout.
 */
export async function fusePackage(model: ModelPackage): Promise<void> {
  const denoiser = model.files["denoiser"];
  if (model.pipeline !== PIPELINE || denoiser === undefined)
    throw new Error(
      `${model.id} has the pipeline ${model.pipeline}: only denoisers of ${PIPELINE} are made into samplers`,
    );
  const path = posix.join(posix.dirname(denoiser.path), FILE_NAME);
  const full = join(model.path, path);
  const draft = `${full}.${process.pid}`;
  try {
    writeSamplerGraph(join(model.path, denoiser.path), draft);
    await rename(draft, full);
  } finally {
    await rm(draft, { force: true });
  }
  const { size } = await stat(full);
  const sampler = { path, sha256: await hashFile(full), byteLength: size };
  await updateManifest(model.path, { files: { ...model.files, sampler } });
}
