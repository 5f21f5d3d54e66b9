import { z } from "zod";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { openModel } from "../../models/registry.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import type { SpeechOutput, SpeechRequest } from "./request.js";
import { speak } from "./speak.js";

/** The names that the front knows, where the package lists some. */
const listedVoices = z.object({ voices: z.array(z.string()).min(1).optional() });

/** Text → sentences → phonemes → waveform → encoder: a sentence leaves while the next one is made. */
export async function createSpeechPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<SpeechRequest, SpeechOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup.providers);
  const opened = await openModel("speech", model, setup);
  const { voices = opened.voices } = listedVoices.parse(model.shapes);
  const speaker = { ...opened, voices };
  return {
    run: (request, context) => speak({ model: speaker, setup, request, context }),
    close: () => speaker.close(),
  };
}
