import { z } from "zod";
import { CATEGORIES } from "../../../src/modalities/moderation/request.js";
import {
  type Evaluate,
  type EvaluationContext,
  inGroups,
  mean,
  ofEachKind,
  readCases,
  rounded,
} from "./evaluator.js";
import { areaUnderCurve } from "./ranking.js";

const sentence = z.object({ text: z.string(), categories: z.array(z.enum(CATEGORIES)) });
const output = z.object({
  results: z.array(z.object({ scores: z.array(z.number()) })),
  thresholds: z.array(z.number()),
});

type Sentence = z.infer<typeof sentence>;
type Category = (typeof CATEGORIES)[number];

interface Judged extends Sentence {
  readonly scores: readonly number[];
  /** Categories whose thresholds the scores reach. */
  readonly flagged: readonly Category[];
}

const BATCH = 128;

/**
 * Area under the ROC curve of each category against all sentences without it, and the share that is
 * flagged of flagged sentences, of harmless look-alikes, of ordinary prompts and of harmless sentences
 * about children; of sexual sentences about adults the share that is flagged as about minors.
 */
export const evaluateModeration: Evaluate = async (context) => {
  const { folder, limit } = context;
  const flagged = await readCases([folder, "flagged.jsonl"], sentence);
  const benign = await readCases([folder, "benign.jsonl"], sentence, limit);
  const prompts = await readCases([folder, "prompts.jsonl"], sentence, limit);
  const some = ofEachKind(flagged, limit, ({ categories }) => categories.join());
  const judged = await judge(context, [...some, ...benign, ...prompts]);
  const children = await readCases([folder, "children.jsonl"], sentence, limit);
  const adults = await readCases([folder, "adults.jsonl"], sentence, limit);
  const ofChildren = await judge(context, children);
  const ofAdults = await judge(context, adults);
  const bad = judged.filter(({ categories }) => categories.length > 0);
  const good = judged.filter(({ categories }) => categories.length === 0);
  const areas = CATEGORIES.map((category, at) => {
    const scores = (has: boolean) =>
      judged
        .filter(({ categories }) => categories.includes(category) === has)
        .map((one) => one.scores[at] ?? 0);
    return [category, rounded(areaUnderCurve(scores(true), scores(false)))] as const;
  });
  return {
    auc_least: Math.min(...areas.map(([, area]) => area)),
    auc_mean: rounded(mean(areas.map(([, area]) => area))),
    ...Object.fromEntries(areas.map(([category, area]) => [`auc ${category}`, area])),
    flagged_of_flagged: rounded(shareFlagged(bad)),
    flagged_of_look_alikes: rounded(shareFlagged(good.slice(0, benign.length))),
    flagged_of_prompts: rounded(shareFlagged(good.slice(benign.length))),
    flagged_of_children: rounded(shareFlagged(ofChildren)),
    minors_of_adults: rounded(shareFlaggedAs("sexual/minors", ofAdults)),
  };
};

async function judge(
  context: EvaluationContext,
  sentences: readonly Sentence[],
): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const group of inGroups(sentences, BATCH)) {
    const made = await context.make({
      model: context.model.id,
      input: group.map(({ text }) => text),
    });
    const { results, thresholds } = output.parse(made.output);
    for (const [at, one] of group.entries()) {
      const scores = results[at]?.scores ?? [];
      const isReached = (category: number) =>
        (scores[category] ?? 0) >= (thresholds[category] ?? 1);
      judged.push({ ...one, scores, flagged: CATEGORIES.filter((_, index) => isReached(index)) });
    }
    context.progress(judged.length, sentences.length);
  }
  return judged;
}

function shareFlagged(judged: readonly Judged[]): number {
  return mean(judged.map(({ flagged }) => (flagged.length > 0 ? 1 : 0)));
}

function shareFlaggedAs(category: Category, judged: readonly Judged[]): number {
  return mean(judged.map(({ flagged }) => (flagged.includes(category) ? 1 : 0)));
}
