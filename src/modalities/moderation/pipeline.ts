import type { JobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineContext, PipelineSetup } from "../../core/modality.js";
import { loadModelPackage, type ModelPackage } from "../../runtime/packages/model-package.js";
import {
  CATEGORIES,
  type InputType,
  type ModerationOutput,
  type ModerationPart,
  type ModerationRequest,
} from "./request.js";
import { readModerationShapes, thresholdsOf } from "./labels.js";
import {
  type ModerationModel,
  openGuardModeration,
  openPictureModeration,
  openTextModeration,
  openWordModeration,
  type PartScores,
  worst,
} from "./classifiers.js";
import { invalidValue } from "../shared/request-body.js";

/** The classifiers of a package, and the scores from which a category is flagged. */
interface Classifiers {
  readonly id: string;
  readonly text?: ModerationModel<string>;
  readonly image?: ModerationModel<Uint8Array>;
  readonly thresholds: readonly number[];
}

/** Every part of every input → scores of the categories; the parts of one input share the greatest. */
export async function createModerationPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<ModerationRequest, ModerationOutput>> {
  const classifiers = await openClassifiers(await loadModelPackage(setup.modelPath, setup), setup);
  return {
    run: (request, context) => classify(classifiers, request, context),
    async close() {
      await classifiers.text?.close();
      await classifiers.image?.close();
    },
  };
}

async function openClassifiers(model: ModelPackage, setup: PipelineSetup): Promise<Classifiers> {
  const shapes = readModerationShapes(model);
  const common = { id: model.id, thresholds: thresholdsOf(shapes) };
  switch (model.pipeline) {
    case "encoder":
      return { ...common, text: await openTextModeration(model, setup, shapes) };
    case "bag-of-words":
      return { ...common, text: await openWordModeration(model, setup, shapes) };
    case "image-classifier":
      return { ...common, image: await openPictureModeration(model, setup, shapes) };
    default:
      return { ...common, text: await openGuardModeration(model, setup, shapes) };
  }
}

interface ScoredPart {
  readonly scores: PartScores;
  readonly input: number;
  readonly type: InputType;
}

async function* classify(
  classifiers: Classifiers,
  { inputs }: ModerationRequest,
  context: PipelineContext,
): AsyncGenerator<PipelineEvent<ModerationOutput>> {
  const parts = inputs.flatMap((list, input) => list.map((part) => ({ input, part })));
  const [texts, pictures] = await Promise.all([
    scoreTexts(classifiers, parts, context),
    scorePictures(classifiers, parts, context),
  ]);
  const scored = [...texts, ...pictures];
  const results = inputs.map((_, input) =>
    resultOf(
      classifiers,
      scored.filter((one) => one.input === input),
    ),
  );
  const inputTokens = scored.reduce((sum, { scores }) => sum + scores.tokens, 0);
  yield { type: "output", output: { results, thresholds: classifiers.thresholds, inputTokens } };
}

interface PlacedPart {
  readonly input: number;
  readonly part: ModerationPart;
}

async function scoreTexts(
  { id, text }: Classifiers,
  parts: readonly PlacedPart[],
  context: PipelineContext,
): Promise<ScoredPart[]> {
  const found = parts.flatMap(({ input, part }) =>
    part.type === "text" ? [{ input, text: part.text }] : [],
  );
  if (found.length === 0) return [];
  if (text === undefined)
    throw unreadable(`${id} judges pictures only: send input as image_url parts`);
  const scored = await text.score(
    found.map((one) => one.text),
    context,
  );
  return scored.map((scores, at) => ({
    scores,
    type: "text",
    input: found[at]?.input ?? 0,
  }));
}

async function scorePictures(
  { id, image }: Classifiers,
  parts: readonly PlacedPart[],
  context: PipelineContext,
): Promise<ScoredPart[]> {
  const found = parts.flatMap(({ input, part }) =>
    part.type === "image" ? [{ input, artifact: part.image }] : [],
  );
  if (found.length === 0) return [];
  if (image === undefined)
    throw unreadable(`${id} judges texts only: input must have no image_url parts`);
  const pictures = await Promise.all(found.map(({ artifact }) => context.readInput(artifact)));
  const scored = await image.score(pictures, context);
  return scored.map((scores, at) => ({
    scores,
    type: "image",
    input: found[at]?.input ?? 0,
  }));
}

function unreadable(message: string): JobError {
  return invalidValue("input", message);
}

function resultOf(
  { text, image }: Classifiers,
  scored: readonly ScoredPart[],
): ModerationOutput["results"][number] {
  const types = new Set(scored.map(({ type }) => type));
  const covered = { text: text?.covered ?? [], image: image?.covered ?? [] };
  const appliedTypes = CATEGORIES.map((category) =>
    [...types].filter((type) => covered[type].includes(category)),
  );
  return { scores: worst(scored.map(({ scores }) => scores)).scores, appliedTypes };
}
