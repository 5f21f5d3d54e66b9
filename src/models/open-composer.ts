import type { PipelineSetup } from "../core/modality.js";
import { loadModelPackage } from "../runtime/packages/model-package.js";
import { openMusicgen } from "./musicgen/open.js";
import type { PieceEvent } from "./music/piece.js";
import { openScore } from "./score/open.js";

/** A model that makes a piece of music, whatever its kind. */
export interface Composer {
  /** Progress, then once the sound, as long as asked for; same seed, same samples. */
  compose(request: ComposerRequest, signal: AbortSignal): AsyncIterable<PieceEvent>;
  close(): Promise<void>;
  /** Share of the work before encoding that the steps are; making their sound is the rest. */
  readonly stepsFraction: number;
}

export interface ComposerRequest {
  readonly prompt: string;
  readonly seconds: number;
  readonly seed: number;
}

/** Composers by the `pipeline` of model.json. */
const COMPOSERS = {
  musicgen: { open: openMusicgen, stepsFraction: 0.95 },
  score: { open: openScore, stepsFraction: 0.25 },
} as const;

/** Opens a package. Throws a sentence that names what is missing, unknown or does not load. */
export async function openComposer(setup: PipelineSetup): Promise<Composer> {
  const model = await loadModelPackage(setup.modelPath, setup.providers);
  const found = Object.entries(COMPOSERS).find(([name]) => name === model.pipeline)?.[1];
  if (found !== undefined)
    return { ...(await found.open(model, setup)), stepsFraction: found.stepsFraction };
  const names = Object.keys(COMPOSERS).join(", ");
  throw new Error(
    `${setup.modelPath}/model.json: pipeline of a music model must be one of ${names}, got ${model.pipeline}`,
  );
}
