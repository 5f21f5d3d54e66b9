import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import {
  graphPaths,
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import { findWords, type FoundWord, type Spelled } from "./search.js";
import { parseLexicon } from "./lexicon-tree.js";
import { growTree } from "./lexicon-tree.js";
import { parseWordModel } from "./word-model.js";
import type { SearchRules } from "./search.js";

const ROLE = "acoustic-model";

/** What a window of sound says by phones. */
export interface HeardPhones {
  /** Each phone marked once, blank between them. */
  readonly spelling: Spelled;
  /** The phone that sounds at each step, or silence. */
  readonly states: Spelled;
}

/** An opened CTC package: acoustic graph, lexicon and language model. */
export interface CtcModel {
  readonly settings: CtcSettings;
  /** As written, by number. */
  readonly words: readonly string[];
  /** features [melBins, frames], frames a multiple of `framesPerStep`. */
  hear(features: Float32Array): Promise<HeardPhones>;
  /** The words of a stretch; `before` is the language model's state before it. */
  read(spelling: Spelled, before: number): readonly FoundWord[];
  /** The language model's state after words; unknown ones are left out. */
  stateAfter(spellings: readonly string[]): number;
  close(): Promise<void>;
}

/** Throws an error that names what the package lacks. */
export async function openCtcModel(
  model: ModelPackage,
  setup: Pick<PipelineSetup, "threads" | "onRun">,
): Promise<CtcModel> {
  const settings = readCtcSettings(model);
  const { "language-model": modelPath = "" } = graphPaths(model, ["language-model"]);
  const words = parseWordModel(await readFile(modelPath));
  const lexicon = parseLexicon(await readModelText(model, "lexicon"), settings.phones);
  if (lexicon.words.length !== words.words) {
    const counts = `${lexicon.words.length}, the language model ${words.words}`;
    throw new Error(`${model.path}: the lexicon and its two marks are ${counts}`);
  }
  const tree = growTree(lexicon, (word) => words.costOf(word));
  const numberOf = new Map(lexicon.words.map((word, number) => [word.toLowerCase(), number]));
  const thread = await openModelGraphs(model, [ROLE], setup);
  return {
    settings,
    words: lexicon.words,
    async hear(features) {
      const frames = features.length / settings.melBins;
      const steps = frames / settings.framesPerStep;
      const feeds = { features: float32(features, [1, settings.melBins, frames]) };
      const outputs = await thread.run(ROLE, feeds);
      const head = (name: string): Spelled => ({
        logprobs: floatsOf(outputs, name),
        steps,
        phones: settings.phones.length,
      });
      return { spelling: head("spelling"), states: head("states") };
    },
    read: (spelling, before) =>
      findWords(spelling, { tree, model: words }, { rules: settings.rules, before }),
    stateAfter(spellings) {
      const known = spellings.flatMap((word) => numberOf.get(word.toLowerCase()) ?? []);
      return words.stateAfter(known);
    },
    close: () => thread.close(),
  };
}

interface CtcSettings {
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

const packageSettings = z.object({ shapes, sampler });

/** What model.json says of a CTC package. Throws an error that names the field. */
function readCtcSettings(model: ModelPackage): CtcSettings {
  const { shapes: shape, sampler: rules } = parseSettings(
    packageSettings,
    model,
    `${model.path}/model.json`,
  );
  return { ...shape, rules };
}
