import { z } from "zod";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { loadModelPackage, type ModelPackage } from "../../runtime/packages/model-package.js";
import { openHfVits } from "../../models/vits/open.js";
import { openKokoro } from "../../models/kokoro/open.js";
import { openPiper } from "../../models/piper/open.js";
import type { SpeechOutput, SpeechRequest } from "./request.js";
import { speak } from "./speak.js";
import type { SpeechModel } from "../../models/speech/speech-model.js";

type OpenSpeechModel = (model: ModelPackage, setup: PipelineSetup) => Promise<SpeechModel>;

/** By `pipeline` of model.json. */
const OPENERS: Readonly<Record<string, OpenSpeechModel>> = {
  kokoro: openKokoro,
  vits: openPiper,
  "hf-vits": openHfVits,
};

/** The names that the front knows, where the package lists some. */
const listedVoices = z.object({ voices: z.array(z.string()).min(1).optional() });

/** Text → sentences → phonemes → waveform → encoder: a sentence leaves while the next one is made. */
export async function createSpeechPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<SpeechRequest, SpeechOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup.providers);
  const open = OPENERS[model.pipeline];
  if (open === undefined) {
    const known = Object.keys(OPENERS).join(", ");
    throw new Error(`${model.path}/model.json: pipeline must be ${known}, got ${model.pipeline}`);
  }
  const opened = await open(model, setup);
  const { voices = opened.voices } = listedVoices.parse(model.shapes);
  const speaker = { ...opened, voices };
  return {
    run: (request, context) => speak({ model: speaker, setup, request, context }),
    close: () => speaker.close(),
  };
}
