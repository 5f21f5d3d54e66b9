import { z } from "zod";
import { type EncoderConfig, sigmoid, softmax } from "../../models/encoder/settings.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { CATEGORIES, type Category, isCategory } from "./request.js";

const threshold = z.number().gt(0).max(1);

/** What an operator may set in `shapes` of model.json. */
const moderationShapes = z.object({
  /** Label → categories, in place of the table of known labels. */
  labels: z.record(z.string(), z.array(z.string())).optional(),
  /** Score from which a category is flagged, for all or for some; 0.5 by default. */
  thresholds: z.union([threshold, z.partialRecord(z.enum(CATEGORIES), threshold)]).optional(),
  /** Whether labels are judged each for itself or exclude one another. */
  activation: z.enum(["sigmoid", "softmax"]).optional(),
});

export type ModerationShapes = z.infer<typeof moderationShapes>;

export function readModerationShapes(model: ModelPackage): ModerationShapes {
  const settings = z.object({ shapes: moderationShapes });
  return parseSettings(settings, model, `${model.path}/model.json`).shapes;
}

const DEFAULT_THRESHOLD = 0.5;

/** One for each category, in the order of `CATEGORIES`. */
export function thresholdsOf({ thresholds = DEFAULT_THRESHOLD }: ModerationShapes): number[] {
  if (typeof thresholds === "number") return CATEGORIES.map(() => thresholds);
  return CATEGORIES.map((category) => thresholds[category] ?? DEFAULT_THRESHOLD);
}

/** How a classifier's logits become scores of categories. */
interface LabelScorer {
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

/** Categories that each label of a model speaks for; none where the label means that all is well. */
type LabelMap = readonly (readonly Category[])[];

const NOTHING: readonly Category[] = [];
const NUDITY: readonly Category[] = ["sexual"];

/**
 * Labels of published classifiers, in lower case with `_` for everything that is not a letter or digit.
 * Jigsaw: unitary/toxic-bert, unbiased-toxic-roberta. Letters: KoalaAI/Text-Moderation. Then offensive
 * and hate speech models (cardiffnlp, facebook, Hate-speech-CNERG, s-nlp, martin-ha), picture
 * classifiers (Falconsai, AdamCodd, Marqo, NSFWJS), the hazards of MLCommons by which Llama Guard judges, and
 * the policies and risks of ShieldGemma and Granite Guardian.
 */
const KNOWN_LABELS: Readonly<Record<string, readonly Category[]>> = {
  toxic: ["harassment"],
  toxicity: ["harassment"],
  severe_toxic: ["harassment"],
  severe_toxicity: ["harassment"],
  obscene: ["harassment"],
  insult: ["harassment"],
  threat: ["harassment/threatening", "violence"],
  identity_hate: ["hate"],
  identity_attack: ["hate"],
  sexual_explicit: ["sexual"],
  s: ["sexual"],
  h: ["hate"],
  v: ["violence"],
  hr: ["harassment"],
  sh: ["self-harm"],
  s3: ["sexual/minors"],
  h2: ["hate/threatening"],
  v2: ["violence/graphic"],
  hate_speech: ["hate"],
  hateful: ["hate"],
  offensive: ["harassment"],
  offensive_language: ["harassment"],
  abusive: ["harassment"],
  profanity: ["harassment"],
  bullying: ["harassment"],
  cyberbullying: ["harassment"],
  self_harm_instruction: ["self-harm/instructions"],
  suicide: ["self-harm"],
  suicidal: ["self-harm"],
  dangerous_content: ["illicit"],
  weapons: ["illicit/violent"],
  drugs: ["illicit"],
  illegal: ["illicit"],
  violent: ["violence"],
  gore: ["violence/graphic"],
  graphic: ["violence/graphic"],
  nsfw: NUDITY,
  porn: NUDITY,
  pornography: NUDITY,
  hentai: NUDITY,
  sexy: NUDITY,
  explicit: NUDITY,
  nudity: NUDITY,
  violent_crimes: ["violence", "illicit/violent"],
  non_violent_crimes: ["illicit"],
  sex_crimes: ["sexual"],
  sex_related_crimes: ["sexual"],
  child_exploitation: ["sexual/minors"],
  child_sexual_exploitation: ["sexual/minors"],
  defamation: ["harassment"],
  indiscriminate_weapons: ["illicit/violent"],
  suicide_self_harm: ["self-harm"],
  sexual_content: ["sexual"],
  code_interpreter_abuse: ["illicit"],
  sexually_explicit: ["sexual"],
  social_bias: ["hate"],
  unethical_behavior: ["illicit"],
  ...Object.fromEntries(CATEGORIES.map((category) => [plain(category), [category]])),
};

/** Labels that mean that all is well. */
const FINE_LABELS: ReadonlySet<string> = new Set([
  ..."ok safe sfw normal neutral none neither benign clean other drawings drawing".split(" "),
  ..."non_toxic nontoxic not_toxic non_offensive not_offensive non_hate nothate not_hate".split(
    " ",
  ),
  ..."non_suicide non_violence nonviolence non_violent not_nsfw".split(" "),
]);

/** What unbiased-toxic-roberta finds that a text speaks of; no fault of it. */
const SUBJECT_LABELS: ReadonlySet<string> = new Set([
  ..."male female homosexual_gay_or_lesbian christian jewish muslim black white".split(" "),
  "psychiatric_or_mental_illness",
]);

/** Hazards of Llama Guard for which there is no category. */
const OTHER_HAZARDS: ReadonlySet<string> = new Set(
  "specialized_advice privacy intellectual_property elections".split(" "),
);

function plain(label: string): string {
  return label.toLowerCase().replaceAll(/[^a-z\d]+/g, "_");
}

/** The categories of each label, from model.json where it says them, else from the table of known labels. */
export function mapLabels(
  labels: readonly string[],
  own: Readonly<Record<string, readonly string[]>> = {},
): LabelMap {
  const map = labels.map((label) => categoriesOf(label, own));
  if (map.some((categories) => categories.length > 0)) return map;
  throw new Error(
    `none of the labels ${labels.join(", ") || "(there are none)"} speaks for a category: ${ADVICE}`,
  );
}

const ADVICE = `set shapes.labels of model.json to {"label": ["category", …]}`;

function categoriesOf(
  label: string,
  own: Readonly<Record<string, readonly string[]>>,
): readonly Category[] {
  const given = own[label];
  if (given !== undefined) {
    const wrong = given.find((name) => !isCategory(name));
    if (wrong !== undefined)
      throw new Error(
        `shapes.labels must name categories (${CATEGORIES.join(", ")}), got ${wrong}`,
      );
    return given.filter(isCategory);
  }
  const name = plain(label);
  const known = Object.hasOwn(KNOWN_LABELS, name) ? KNOWN_LABELS[name] : undefined;
  if (known !== undefined) return known;
  if ([FINE_LABELS, SUBJECT_LABELS, OTHER_HAZARDS].some((set) => set.has(name))) return NOTHING;
  throw new Error(`the label ${label} is not known: ${ADVICE}`);
}

/** Whether a label says that all is well: such labels exclude one another. */
function hasFineLabel(labels: readonly string[]): boolean {
  return labels.some((label) => FINE_LABELS.has(plain(label)));
}

/** Categories that some label speaks for. */
export function coveredBy(map: LabelMap): Category[] {
  const covered = new Set(map.flat());
  return CATEGORIES.filter((category) => covered.has(category));
}

/** Score of each category in the order of `CATEGORIES`: the greatest of its labels, 0 where it has none. */
export function scoreCategories(map: LabelMap, probabilities: readonly number[]): number[] {
  return CATEGORIES.map((category) =>
    Math.max(0, ...probabilities.filter((_, label) => map[label]?.includes(category) ?? false)),
  );
}
