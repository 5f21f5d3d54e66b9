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
  openPictureJudge,
  openTextJudge,
  openWordJudge,
  type Verdict,
  worst,
} from "./classifiers.js";
import { invalidValue } from "../shared/request-body.js";

/** What a package can judge. */
interface Judges {
  readonly id: string;
  readonly text?: ModerationModel<string>;
  readonly image?: ModerationModel<Uint8Array>;
  readonly thresholds: readonly number[];
}

/** Every part of every input → scores of the categories; the parts of one input share the greatest. */
export async function createModerationPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<ModerationRequest, ModerationOutput>> {
  const judges = await openJudges(await loadModelPackage(setup.modelPath, setup.providers), setup);
  return {
    run: (request, context) => judge(judges, request, context),
    async close() {
      await judges.text?.close();
      await judges.image?.close();
    },
  };
}

async function openJudges(model: ModelPackage, setup: PipelineSetup): Promise<Judges> {
  const shapes = readModerationShapes(model);
  const common = { id: model.id, thresholds: thresholdsOf(shapes) };
  switch (model.pipeline) {
    case "encoder":
      return { ...common, text: await openTextJudge(model, setup, shapes) };
    case "bag-of-words":
      return { ...common, text: await openWordJudge(model, setup, shapes) };
    case "image-classifier":
      return { ...common, image: await openPictureJudge(model, setup, shapes) };
    default:
      throw new Error(
        `${model.path}: moderation runs by encoder, bag-of-words or image-classifier, not by ${model.pipeline}`,
      );
  }
}

interface Judged {
  readonly verdict: Verdict;
  readonly input: number;
  readonly type: InputType;
}

async function* judge(
  judges: Judges,
  { inputs }: ModerationRequest,
  context: PipelineContext,
): AsyncGenerator<PipelineEvent<ModerationOutput>> {
  const parts = inputs.flatMap((list, input) => list.map((part) => ({ input, part })));
  const [texts, pictures] = await Promise.all([
    judgeTexts(judges, parts, context.signal),
    judgePictures(judges, parts, context),
  ]);
  const judged = [...texts, ...pictures];
  const results = inputs.map((_, input) =>
    resultOf(
      judges,
      judged.filter((one) => one.input === input),
    ),
  );
  const inputTokens = judged.reduce((sum, { verdict }) => sum + verdict.tokens, 0);
  yield { type: "output", output: { results, thresholds: judges.thresholds, inputTokens } };
}

interface PlacedPart {
  readonly input: number;
  readonly part: ModerationPart;
}

async function judgeTexts(
  { id, text }: Judges,
  parts: readonly PlacedPart[],
  signal: AbortSignal,
): Promise<Judged[]> {
  const found = parts.flatMap(({ input, part }) =>
    part.type === "text" ? [{ input, text: part.text }] : [],
  );
  if (found.length === 0) return [];
  if (text === undefined)
    throw unreadable(`${id} judges pictures only: send input as image_url parts`);
  const verdicts = await text.judge(
    found.map((one) => one.text),
    signal,
  );
  return verdicts.map((verdict, at) => ({
    verdict,
    type: "text",
    input: found[at]?.input ?? 0,
  }));
}

async function judgePictures(
  { id, image }: Judges,
  parts: readonly PlacedPart[],
  context: PipelineContext,
): Promise<Judged[]> {
  const found = parts.flatMap(({ input, part }) =>
    part.type === "image" ? [{ input, artifact: part.image }] : [],
  );
  if (found.length === 0) return [];
  if (image === undefined)
    throw unreadable(`${id} judges texts only: input must have no image_url parts`);
  const pictures = await Promise.all(found.map(({ artifact }) => context.readInput(artifact)));
  const verdicts = await image.judge(pictures, context.signal);
  return verdicts.map((verdict, at) => ({
    verdict,
    type: "image",
    input: found[at]?.input ?? 0,
  }));
}

function unreadable(message: string): JobError {
  return invalidValue("input", message);
}

function resultOf(
  { text, image }: Judges,
  judged: readonly Judged[],
): ModerationOutput["results"][number] {
  const types = new Set(judged.map(({ type }) => type));
  const covered = { text: text?.covered ?? [], image: image?.covered ?? [] };
  const appliedTypes = CATEGORIES.map((category) =>
    [...types].filter((type) => covered[type].includes(category)),
  );
  return { scores: worst(judged.map(({ verdict }) => verdict)).scores, appliedTypes };
}
