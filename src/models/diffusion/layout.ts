import { z } from "zod";
import {
  type Layout,
  present,
  type Recognised,
  requireFile,
  requireGraph,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

/** Pipelines of diffusers whose text-to-image loop is served; img2img classes share their graphs. */
const SERVED =
  /^(ORT|Onnx)?(StableDiffusion(XL|3)?|LatentConsistencyModel|Flux|Flux2Klein|PixArt(Alpha|Sigma)|Sana|ZImage)(Img2Img|Inpaint)?Pipeline(Legacy)?$/;
const VIDEO = /Mochi|AnimateDiff|Video|Cosmos/;
const MUSIC = /Audio|Music/;

/** What is served of the same kind. */
const NEAREST = [
  [
    /ControlNet|ControlLoRA|Adapter|InstructPix2Pix|Kontext|Fill|Edit|Redux|Omni/,
    "pictures are edited with image-to-image and inpainting packages of Stable Diffusion, SDXL, SD3, FLUX.1, FLUX.2 klein and Z-Image",
  ],
  [/Flux2/, "of FLUX.2 the plain Flux2KleinPipeline is, whose text encoder is Qwen3"],
  [
    /QwenImage|HiDream|Chroma|Lumina|HunyuanDiT|HunyuanImage|AuraFlow|CogView|Kolors/,
    "of transformers for pictures SD3, FLUX.1, FLUX.2 klein, Z-Image, PixArt and Sana are",
  ],
  [/SanaSprint|SanaPAG|SanaControl/, "of Sana the plain SanaPipeline is"],
] as const;

const NUMBERED = ["", "-2", "-3"];

/** Diffusers' folders as optimum exports them. */
export const diffusionImage: Layout = {
  lookedFor:
    "model_index.json with text_encoder/, unet/ or transformer/ and vae_decoder/ (diffusers)",
  async recognise(folder) {
    const className = await findClassName(folder);
    if (className === undefined) return undefined;
    refuseOthers(folder, className);
    const denoiser = folder.findGraph("unet/model") === undefined ? "transformer" : "unet";
    const files = present({
      "model-index": "model_index.json",
      "scheduler-config": schedulerFile(folder),
      ...textFiles(folder),
      "chat-template": folder.find("tokenizer/chat_template.jinja"),
      ...component(folder, "denoiser", denoiser),
      ...component(folder, "vae-decoder", "vae_decoder"),
      ...(folder.findGraph("vae_encoder/model") && component(folder, "vae-encoder", "vae_encoder")),
    });
    // Without a list of sizes: a convolution serves every side that the latents divide.
    const reads = files["vae-encoder"] === undefined ? ["text"] : ["text", "image"];
    const found = { modality: "image", pipeline: "diffusion-image", files, shapes: { reads } };
    return /ZImage/.test(className) ? { ...found, ...zImageSteps(folder) } : found;
  },
};

/** Nothing but its name tells Z-Image-Turbo from Z-Image. */
function zImageSteps({ name }: ModelFolder): Pick<Recognised, "sampler" | "notes"> {
  if (/turbo/i.test(name)) return { sampler: { steps: 9, guidance: 0 } };
  const text =
    "taken as Z-Image, with 50 steps and a guidance of 5; Z-Image-Turbo, which its name does not say it is, wants sampler.steps 9 and sampler.guidance 0 in model.json";
  return { sampler: { steps: 50, guidance: 5 }, notes: [{ text }] };
}

function refuseOthers(folder: ModelFolder, className: string): void {
  if (SERVED.test(className)) return;
  const what = `${folder.name} is made for ${className}, whose layout is not served yet`;
  if (VIDEO.test(className)) throw new Error(`${what}: of video models Wan and LTX-2 are`);
  if (MUSIC.test(className)) throw new Error(`${what}: of models for music MusicGen is`);
  const [, nearest] = NEAREST.find(([name]) => name.test(className)) ?? [];
  const served =
    "Stable Diffusion 1.x and 2.x, SDXL, SD3, LCM, FLUX.1, FLUX.2 klein, Z-Image, PixArt and Sana are";
  throw new Error(`${what}: ${nearest ?? served}`);
}

/** Text encoders with the tokenizer of the same number. */
function textFiles(folder: ModelFolder): Readonly<Record<string, string | undefined>> {
  const files: Record<string, string | undefined> = {};
  for (const suffix of NUMBERED) {
    const number = suffix.replace("-", "_");
    const place = `text_encoder${number}`;
    const isThere = folder.findGraph(`${place}/model`) !== undefined;
    // The first one is required; SDXL and Flux have two, SD3 three or, to save memory, two.
    if (!isThere && suffix !== "") continue;
    Object.assign(
      files,
      component(folder, `text-encoder${suffix}`, place),
      tokenizer(folder, suffix, `tokenizer${number}`),
    );
  }
  return files;
}

const modelIndex = z
  .object({ _class_name: z.string() })
  // oxlint-disable-next-line no-underscore-dangle
  .transform((index) => index._class_name);

/** The pipeline that diffusers would run; undefined where the folder is not diffusers'. */
export function findClassName(folder: ModelFolder): Promise<string | undefined> {
  return folder.readJson("model_index.json", modelIndex);
}

export function schedulerFile(folder: ModelFolder): string {
  return requireFile(folder, "scheduler/scheduler_config.json", "it names the sampler");
}

/**
 * A folder of a graph and its settings: `denoiser` and `denoiser-config`; of several graphs, role and name
 * of each.
 */
export function component(
  folder: ModelFolder,
  role: string,
  place: string,
  graphs: Readonly<Record<string, string>> = { [role]: "model" },
) {
  const paths = Object.entries(graphs).map(([name, graph]) => {
    return [name, requireGraph(folder, `${place}/${graph}`)] as const;
  });
  return {
    ...Object.fromEntries(paths),
    [`${role}-config`]: requireFile(
      folder,
      `${place}/config.json`,
      "it says what its graph is made for; copy it from the repository that was exported",
    ),
  };
}

/** tokenizer.json, or the two files that it is made of, under roles that end in `suffix`. */
function tokenizer(folder: ModelFolder, suffix: string, place: string) {
  const whole = folder.find(`${place}/tokenizer.json`);
  const parts = {
    [`tokenizer${suffix}-vocab`]: folder.find(`${place}/vocab.json`),
    [`tokenizer${suffix}-merges`]: folder.find(`${place}/merges.txt`),
  };
  if (whole === undefined && Object.values(parts).includes(undefined))
    throw new Error(
      `${folder.name} has neither ${place}/tokenizer.json nor ${place}/vocab.json with merges.txt`,
    );
  return {
    ...(whole === undefined ? parts : { [`tokenizer${suffix}`]: whole }),
    [`tokenizer${suffix}-config`]: folder.find(`${place}/tokenizer_config.json`),
  };
}
