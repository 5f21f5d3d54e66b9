import { join } from "node:path";
import { openPackageRunner, type RunnerParts } from "../../../src/bin/package-runner.js";
import type { Config } from "../../../src/config.js";
import type { ModelPackage } from "../../../src/runtime/packages/model-package.js";
import { evaluateChat } from "./chat.js";
import { evaluateEmbeddings } from "./embeddings.js";
import { EVALUATION_FOLDER } from "./evaluation-card.js";
import type { Evaluate, Measures } from "./evaluator.js";
import { evaluateImage } from "./image.js";
import { evaluateModeration } from "./moderation.js";
import { evaluateMusic } from "./music.js";
import { evaluateRerank } from "./rerank.js";
import { evaluateSpeech } from "./speech.js";
import { evaluateTranscription } from "./transcription.js";
import { evaluateVideo } from "./video.js";

export interface EvaluatePackageOptions {
  readonly parts: RunnerParts;
  readonly config: Pick<Config, "ffmpegPath" | "ffprobePath">;
  readonly limit?: number | undefined;
  readonly signal: AbortSignal;
  readonly progress?: (done: number, of: number) => void;
}

/** Measures one package. Throws where its modality has no evaluator or the package does not run. */
export async function evaluatePackage(
  model: ModelPackage,
  options: EvaluatePackageOptions,
): Promise<Measures> {
  const { parts, config, limit = Infinity, signal, progress = () => {} } = options;
  const evaluate = evaluators[model.modality];
  if (evaluate === undefined) throw new Error(`${model.modality} models are not evaluated`);
  const runner = await openPackageRunner(model, parts);
  try {
    return await evaluate({
      model: runner.info,
      folder: join(model.path, EVALUATION_FOLDER),
      limit,
      ffmpegPath: config.ffmpegPath,
      ffprobePath: config.ffprobePath,
      signal,
      make: (body) => runner.make(body, signal),
      progress,
    });
  } finally {
    await runner.close();
  }
}

/** How the models of each modality are measured. */
const evaluators: Readonly<Record<string, Evaluate>> = {
  chat: evaluateChat,
  embeddings: evaluateEmbeddings,
  image: evaluateImage,
  moderation: evaluateModeration,
  music: evaluateMusic,
  rerank: evaluateRerank,
  speech: evaluateSpeech,
  transcription: evaluateTranscription,
  video: evaluateVideo,
};
