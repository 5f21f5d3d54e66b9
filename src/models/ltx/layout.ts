import { z } from "zod";
import { type Layout, present, requireFile } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { component, findClassName, schedulerFile } from "../diffusion/layout.js";

const transformer = z.object({
  cross_attn_mod: z.boolean().nullish(),
  gated_attn: z.boolean().nullish(),
});

const SERVED = /^LTX2(ImageToVideo)?Pipeline$/;

/** What no file of the folder says: the pipeline's own frame rate, and the sides of the tier that 32 divides. */
const SHAPES = {
  frameRate: 24,
  native: [704, 1280],
  sizes: [[720, 1280]],
  tiers: ["standard", "fast"],
};
/** As the reference takes them. */
const SAMPLER = { steps: 40, guidance: 4 };
const SECONDS = { minSeconds: 4, maxSeconds: 10 };

/** LTX-2 from text or a picture, in diffusers' folders with each graph exported to its own. */
export const ltxVideo: Layout = {
  lookedFor:
    "model_index.json of LTX2Pipeline with text_encoder/, connectors/, transformer/, vae_decoder/, audio_vae_decoder/ and vocoder/ (diffusers)",
  async recognise(folder) {
    const className = await findClassName(folder);
    if (className === undefined || !className.startsWith("LTX")) return undefined;
    if (!SERVED.test(className))
      throw new Error(
        `${folder.name} is made for ${className}, whose layout is not served: of LTX's pipelines LTX2Pipeline and LTX2ImageToVideoPipeline are`,
      );
    await refuseLater(folder);
    const readsPictures = folder.findGraph("vae_encoder/model") !== undefined;
    const files = present({
      "model-index": "model_index.json",
      "scheduler-config": schedulerFile(folder),
      ...component(folder, "text-encoder", "text_encoder"),
      tokenizer: requireFile(
        folder,
        "tokenizer/tokenizer.json",
        "the words of Gemma are read of it alone, not of tokenizer.model",
      ),
      "tokenizer-config": folder.find("tokenizer/tokenizer_config.json"),
      ...component(folder, "connectors", "connectors"),
      ...component(folder, "denoiser", "transformer"),
      ...component(folder, "vae-decoder", "vae_decoder"),
      ...component(folder, "audio-vae-decoder", "audio_vae_decoder"),
      ...component(folder, "vocoder", "vocoder"),
      ...(readsPictures && component(folder, "vae-encoder", "vae_encoder")),
    });
    return {
      modality: "video",
      pipeline: "ltx-video",
      files,
      ahead: 1,
      shapes: { ...SHAPES, reads: readsPictures ? ["text", "image"] : ["text"] },
      sampler: SAMPLER,
      limits: SECONDS,
    };
  },
};

/** LTX-2.3 names itself as LTX-2 does, and is guided otherwise. */
async function refuseLater(folder: ModelFolder): Promise<void> {
  const config = await folder.readJson("transformer/config.json", transformer);
  const field = (["cross_attn_mod", "gated_attn"] as const).find((name) => config?.[name]);
  if (field !== undefined)
    throw new Error(
      `${folder.name} is LTX-2.3 (${field} in transformer/config.json), which is not served: LTX-2 is`,
    );
}
