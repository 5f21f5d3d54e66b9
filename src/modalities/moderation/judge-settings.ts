import { z } from "zod";
import { sigmoid, softmax } from "../../models/encoder/pooling.js";
import type { EncoderConfig } from "../../models/encoder/encoder-settings.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { CATEGORIES, type Category } from "./categories.js";
import { coveredBy, hasFineLabel, type LabelMap, mapLabels, scoreCategories } from "./label-map.js";

const threshold = z.number().gt(0).max(1);

/** What an operator may set in `shapes` of model.json. */
const moderationShapes = z.object({
  /** Label → categories, in place of the table of known labels. */
  labels: z.record(z.string(), z.array(z.string())).optional(),
  /** Score from which a category is flagged, for all or for some; 0.5 where absent. */
  thresholds: z.union([threshold, z.partialRecord(z.enum(CATEGORIES), threshold)]).optional(),
  /** Whether labels are judged each for itself or exclude one another. */
  activation: z.enum(["sigmoid", "softmax"]).optional(),
});

export type ModerationShapes = z.infer<typeof moderationShapes>;

export function readModerationShapes({ shapes, path }: ModelPackage): ModerationShapes {
  const parsed = moderationShapes.safeParse(shapes);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${path}/model.json: shapes.${issue?.path.join(".")} ${issue?.message}`);
}

const DEFAULT_THRESHOLD = 0.5;

/** One for each category, in the order of `CATEGORIES`. */
export function thresholdsOf({ thresholds = DEFAULT_THRESHOLD }: ModerationShapes): number[] {
  if (typeof thresholds === "number") return CATEGORIES.map(() => thresholds);
  return CATEGORIES.map((category) => thresholds[category] ?? DEFAULT_THRESHOLD);
}

/** How a classifier's logits become scores of categories. */
export interface LabelScorer {
  readonly covered: readonly Category[];
  /** In the order of `CATEGORIES`, 0 to 1. */
  score(logits: Float32Array): number[];
}

export function createLabelScorer(
  labels: readonly string[],
  shapes: ModerationShapes,
  config?: EncoderConfig,
): LabelScorer {
  const map: LabelMap = mapLabels(labels, shapes.labels);
  const activation = shapes.activation ?? activationOf(labels, config?.problem_type ?? null);
  return {
    covered: coveredBy(map),
    score: (logits) =>
      scoreCategories(
        map,
        activation === "softmax" ? softmax(logits) : Array.from(logits, sigmoid),
      ),
  };
}

/** As transformers reads `problem_type`; labels of which one says that all is well exclude one another. */
function activationOf(
  labels: readonly string[],
  problemType: string | null,
): "sigmoid" | "softmax" {
  if (problemType === "multi_label_classification" || labels.length === 1) return "sigmoid";
  if (problemType === "single_label_classification") return "softmax";
  return hasFineLabel(labels) ? "softmax" : "sigmoid";
}
