import type { PipelineSetup } from "../../core/modality.js";
import { readSchedulerConfig, type SchedulerConfig } from "../diffusion/schedulers/config.js";
import { createMutex, type Mutex } from "../../core/async/mutex.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { loadModelTokenizer } from "../tokenizer/text-tokenizer.js";
import { planSchedule } from "./denoise.js";
import { createDenoiser, type Denoisers } from "./denoiser.js";
import { createDenoiserInParts } from "./denoiser-in-parts.js";
import { PARTS } from "./layout.js";
import { openDecoder, type WanDecoder } from "./decoder.js";
import { createPromptEncoder, type EncodePrompt } from "./denoiser.js";
import { type EncodePicture, openPictureEncoder } from "./picture.js";
import { readSettings, type WanSettings } from "./settings.js";

/** An open package of the pipeline `wan-video`. */
export interface WanModel {
  readonly id: string;
  readonly settings: WanSettings;
  readonly scheduler: SchedulerConfig;
  readonly encodePrompt: EncodePrompt;
  /** Absent of a model that makes clips of texts alone. */
  readonly encodePicture?: EncodePicture;
  readonly denoisers: Denoisers;
  readonly decoder: WanDecoder;
  readonly decoding: Mutex;
  close(): Promise<void>;
}

/** Opens the package's graphs. Throws an error that names what is missing, not known or does not load. */
export async function openWanModel(model: ModelPackage, setup: PipelineSetup): Promise<WanModel> {
  const settings = await readSettings(model);
  const scheduler = readSchedulerConfig(await readModelText(model, "scheduler-config"));
  // A scheduler that is not known stops the start, not the first request.
  planSchedule({ settings, scheduler });
  const tokenizer = await loadModelTokenizer(model);
  const present = (...all: string[]) => all.filter((role) => model.files[role] !== undefined);
  const transformers = model.files["denoiser-2-config"] === undefined ? [""] : ["", "-2"];
  const roles = transformers.flatMap((suffix) =>
    present(`denoiser${suffix}`, ...PARTS.map((part) => part + suffix)),
  );
  const readers = present("vae-encoder", "image-encoder");
  // Frames of one clip are decoded while the next one is denoised.
  const [clip, frames] = await Promise.all([
    openModelGraphs(model, ["text-encoder", ...readers, ...roles], setup),
    openModelGraphs(model, ["vae-decoder"], setup),
  ]);
  const openDenoiser = (suffix: string) =>
    model.files[`denoiser${suffix}`] === undefined
      ? createDenoiserInParts(clip, suffix)
      : createDenoiser(clip, `denoiser${suffix}`);
  const close = async () => void (await Promise.all([clip.close(), frames.close()]));
  try {
    const encodePicture = await openPictureEncoder(model, clip, settings);
    return {
      id: model.id,
      settings,
      scheduler,
      encodePrompt: createPromptEncoder(clip, tokenizer, settings.shapes.promptTokens),
      ...(encodePicture && { encodePicture }),
      denoisers: [openDenoiser(""), ...transformers.slice(1).map(openDenoiser)],
      decoder: await openDecoder(frames, settings),
      decoding: createMutex(),
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}
