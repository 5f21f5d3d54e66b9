import type { PipelineSetup } from "../core/modality.js";
import { loadModelPackage } from "../runtime/packages/model-package.js";
import type { OpenFamily, VideoModel } from "./video/family.js";
import { openMotion } from "./motion/open.js";
import { openWan } from "./wan/open.js";

/** By `pipeline` of model.json. */
const FAMILIES: Readonly<Record<string, OpenFamily>> = {
  "flow-video": openMotion,
  "wan-video": openWan,
};

export async function openVideoModel(setup: PipelineSetup): Promise<VideoModel> {
  const { pipeline } = await loadModelPackage(setup.modelPath);
  const open = Object.hasOwn(FAMILIES, pipeline) ? FAMILIES[pipeline] : undefined;
  if (open !== undefined) return await open(setup);
  const known = Object.keys(FAMILIES).join(", ");
  throw new Error(`${setup.modelPath}/model.json: pipeline must be ${known}, got ${pipeline}`);
}
