import { z } from "zod";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import type { SearchRules } from "./search.js";

export interface CtcSettings {
  readonly melBins: number;
  /** Mel frames of 10 ms a step of the graph. */
  readonly framesPerStep: number;
  /** Heard at once; longer sound is cut at a pause. */
  readonly windowSeconds: number;
  /** The first is silence. */
  readonly phones: readonly string[];
  readonly language: string;
  readonly rules: SearchRules;
}

const shapes = z.object({
  melBins: z.int().positive(),
  framesPerStep: z.int().positive(),
  windowSeconds: z.number().min(2).max(60),
  phones: z.array(z.string().min(1)).min(2),
  language: z.string().min(2),
});

const sampler = z.object({
  languageWeight: z.number().nonnegative(),
  wordBonus: z.number(),
  beam: z.number().positive(),
  maxHypotheses: z.int().positive(),
});

/** What model.json says of a CTC package. Throws a sentence that names the field. */
export function readCtcSettings(model: ModelPackage): CtcSettings {
  const rules = sampler.safeParse(model.sampler);
  if (!rules.success) throw fieldError(model, "sampler", rules.error);
  const shape = shapes.safeParse(model.shapes);
  if (!shape.success) throw fieldError(model, "shapes", shape.error);
  return { ...shape.data, rules: rules.data };
}

function fieldError(model: ModelPackage, part: string, { issues }: z.ZodError): Error {
  const [issue] = issues;
  return new Error(
    `${model.path}/model.json: ${[part, ...(issue?.path ?? [])].join(".")} ${issue?.message}`,
  );
}
