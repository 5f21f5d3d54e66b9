import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { HOP_SAMPLES, SPEECH_RATE_HZ } from "../../media/mel.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import type { Feeds } from "../../runtime/ort/session.js";
import { type ModelPackage, openModelGraphs } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { float32, floatsOf, int64Of, transpose } from "../../runtime/tensors/tensor.js";
import { type CtcToken, readCtcTokens } from "../speech-recognition/ctc-tokens.js";
import { createStretchRecogniser } from "../speech-recognition/transcribe-stretches.js";
import type { TranscriptionModel } from "../speech-recognition/transcription-model.js";
import { createNemoFeatures, type NemoFeatures } from "./features.js";
import { readPieces } from "./tokens.js";
import { JOINT, readTransducer } from "./transducer.js";

const shapes = z.object({ melBins: z.int().positive(), framesPerStep: z.int().positive() });

/** Parakeet with a CTC or a transducer's head: log-mel features to pieces of words, one frame every 80 ms in the published ones. */
export async function openParakeet(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<TranscriptionModel> {
  const file = `${model.path}/model.json: shapes`;
  const { melBins, framesPerStep } = parseSettings(shapes, model.shapes, file);
  const frameSeconds = (framesPerStep * HOP_SAMPLES) / SPEECH_RATE_HZ;
  const { texts, blank } = await readPieces(model);
  const featuresOf = createNemoFeatures(melBins);
  const isTransducer = model.files[JOINT] !== undefined;
  const roles = isTransducer ? ["encoder", JOINT] : ["model"];
  const graphs = await openModelGraphs(model, roles, setup);
  const read = isTransducer ? readByTransducer : readByCtc;
  return await createStretchRecogniser(model, setup, {
    async hear(samples, { signal }) {
      const features = featuresOf(samples);
      const frames = Math.ceil(features.length / framesPerStep);
      const sound = { features, melBins, frames, blank, vocabulary: texts.length, signal };
      const found = await read(graphs, sound);
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

interface Sound {
  readonly features: NemoFeatures;
  readonly melBins: number;
  /** Of the encoder, those that count. */
  readonly frames: number;
  readonly blank: number;
  /** Pieces and the blank. */
  readonly vocabulary: number;
  readonly signal: AbortSignal;
}

/** By a graph of transformers (`logits`) or of NeMo (`logprobs`). */
async function readByCtc(graphs: Graphs, sound: Sound): Promise<CtcToken[]> {
  const [output = "logits"] = (graphs.info["model"]?.outputs ?? []).map(({ name }) => name);
  const outputs = await graphs.run("model", feedsOf(sound), { fetch: [output] });
  const logits = floatsOf(outputs, output);
  const width = outputs[output]?.dims.at(-1) ?? 1;
  const frames = Math.min(sound.frames, logits.length / width);
  return readCtcTokens({ logits, width, blank: sound.blank, frames });
}

async function readByTransducer(graphs: Graphs, sound: Sound): Promise<CtcToken[]> {
  const outputs = await graphs.run("encoder", feedsOf(sound), { fetch: ["outputs"] });
  const [, width = 1, steps = 0] = outputs["outputs"]?.dims ?? [];
  const encoded = { states: floatsOf(outputs, "outputs"), width, steps };
  const frames = Math.min(sound.frames, steps);
  return await readTransducer(graphs, { ...encoded, frames }, sound);
}

function feedsOf({ features: { values, frames, length }, melBins }: Sound): Feeds {
  const mask = Array.from({ length: frames }, (_, frame) => (frame < length ? 1 : 0));
  return {
    input_features: float32(values, [1, frames, melBins]),
    attention_mask: int64Of(mask, [1, frames]),
    audio_signal: float32(transpose(values, frames), [1, melBins, frames]),
    length: int64Of([length], [1]),
  };
}
