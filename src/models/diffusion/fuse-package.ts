import { rename, rm, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { hashFile } from "../../runtime/packages/checked-files.js";
import { writeSamplerGraph, writeStepGraph } from "./sampler-graph.js";
import { STEP_ROLE } from "./step-chain.js";
import { type ModelPackage, updateManifest } from "../../runtime/packages/model-package.js";

const PIPELINE = "flow-video";
const GRAPHS = [
  { role: "sampler", fileName: "sampler.onnx", write: writeSamplerGraph },
  { role: STEP_ROLE, fileName: "sampler-step.onnx", write: writeStepGraph },
];

/**
 * Makes the samplers of a video package beside its denoiser, whose weights they hold, or name where they
 * lie in a file of their own: a graph of several denoising steps, and one of a single step. model.json
 * changes once they are whole. The package's files must have been verified. Throws where the
 * denoiser is of another layout.
 */
export async function fusePackage(model: ModelPackage): Promise<void> {
  const denoiser = model.files["denoiser"];
  if (model.pipeline !== PIPELINE || denoiser === undefined)
    throw new Error(
      `${model.id} has the pipeline ${model.pipeline}: only denoisers of ${PIPELINE} are made into samplers`,
    );
  const files = { ...model.files };
  for (const { role, fileName, write } of GRAPHS) {
    const path = posix.join(posix.dirname(denoiser.path), fileName);
    await writeWhole(join(model.path, path), (draft) =>
      write(join(model.path, denoiser.path), draft),
    );
    const { size } = await stat(join(model.path, path));
    files[role] = { path, sha256: await hashFile(join(model.path, path)), byteLength: size };
  }
  await updateManifest(model.path, { files });
}

async function writeWhole(path: string, write: (draft: string) => void): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    write(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
