import type { ImageFamily } from "./diffusion/family.js";
import { flux } from "./flux/family.js";
import { stableDiffusion3 } from "./stable-diffusion/stable-diffusion-3.js";
import { stableDiffusionXl } from "./stable-diffusion/stable-diffusion-xl.js";
import { stableDiffusion } from "./stable-diffusion/stable-diffusion.js";
import { vectorScene } from "./vector-scene/family.js";

/** By `_class_name` of model_index.json, without what exporters and tasks add to it. */
const FAMILIES: Readonly<Record<string, ImageFamily>> = {
  Flux: flux,
  LatentConsistencyModel: stableDiffusion,
  StableDiffusion: stableDiffusion,
  StableDiffusion3: stableDiffusion3,
  StableDiffusionXL: stableDiffusionXl,
  VectorScene: vectorScene,
};

export function findFamily(className: string): ImageFamily {
  const name = className
    .replace(/^(ORT|Onnx)/, "")
    .replace(/(Img2Img|Inpaint)?Pipeline(Legacy)?$/, "");
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  if (family !== undefined) return family;
  const known = Object.keys(FAMILIES).join(", ");
  throw new Error(
    `model_index.json: ${className} is not a pipeline that runs: it must be ${known}`,
  );
}
