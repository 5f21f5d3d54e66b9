import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { HOP_SAMPLES, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { type ModelPackage, openModelGraphs } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { readCtcTokens } from "../speech-recognition/ctc-tokens.js";
import { createStretchRecogniser } from "../speech-recognition/transcribe-stretches.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";
import { createNemoFeatures, type NemoFeatures } from "./features.js";
import { readPieces } from "./tokens.js";

const shapes = z.object({ melBins: z.int().positive(), framesPerStep: z.int().positive() });

/** Parakeet: log-mel features to pieces of words, one frame every 80 ms in the published ones. */
export async function openParakeet(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const file = `${model.path}/model.json: shapes`;
  const { melBins, framesPerStep } = parseSettings(shapes, model.shapes, file);
  const frameSeconds = (framesPerStep * HOP_SAMPLES) / SPEECH_RATE_HZ;
  const { texts, blank } = await readPieces(model);
  const featuresOf = createNemoFeatures(melBins);
  const graphs = await openModelGraphs(model, ["model"], setup);
  return await createStretchRecogniser(model, setup, {
    async hear(samples) {
      const features = featuresOf(samples);
      const { logits, width } = await run(graphs, features, melBins);
      const frames = Math.min(Math.ceil(features.length / framesPerStep), logits.length / width);
      const found = readCtcTokens({ logits, width, blank, frames });
      const tokens = found.flatMap(({ id, first, end, logprob }) => {
        const text = texts[id];
        const place = { startSeconds: first * frameSeconds, endSeconds: end * frameSeconds };
        return text === undefined ? [] : [{ id, text, logprob, place }];
      });
      return { tokens };
    },
    close: () => graphs.close(),
  });
}

/** Logits [frames, width] of a graph of transformers (`logits`) or of NeMo (`logprobs`). */
async function run(graphs: Graphs, features: NemoFeatures, melBins: number) {
  const { values, frames, length } = features;
  const mask = Array.from({ length: frames }, (_, frame) => (frame < length ? 1 : 0));
  const feeds = {
    input_features: float32(values, [1, frames, melBins]),
    attention_mask: int64Of(mask, [1, frames]),
    audio_signal: float32(transpose(values, melBins), [1, melBins, frames]),
    length: int64Of([length], [1]),
  };
  const [output = "logits"] = (graphs.info["model"]?.outputs ?? []).map(({ name }) => name);
  const outputs = await graphs.run("model", feeds, { fetch: [output] });
  return { logits: floatsOf(outputs, output), width: outputs[output]?.dims.at(-1) ?? 1 };
}

/** [frames, bins] to [bins, frames]. */
function transpose(values: Float32Array, bins: number): Float32Array {
  const frames = values.length / bins;
  const turned = new Float32Array(values.length);
  for (let frame = 0; frame < frames; frame++)
    for (let bin = 0; bin < bins; bin++)
      turned[bin * frames + frame] = values[frame * bins + bin] ?? 0;
  return turned;
}
