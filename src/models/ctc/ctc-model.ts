import { readFile } from "node:fs/promises";
import type { GraphRun } from "../../core/modality.js";
import {
  graphPaths,
  type ModelPackage,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { openSessions } from "../../runtime/ort/session.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import { type FoundWord, findWords, type Spelled } from "./beam-search.js";
import { type CtcSettings, readCtcSettings } from "./ctc-settings.js";
import { parseLexicon } from "./lexicon.js";
import { growTree } from "./lexicon-tree.js";
import { parseWordModel } from "./word-model.js";

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

export interface OpenCtc {
  readonly threads: number;
  readonly onRun?: (run: GraphRun) => void;
}

/** Throws a sentence that names what the package lacks. */
export async function openCtcModel(
  model: ModelPackage,
  { threads, onRun }: OpenCtc,
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
  const { providers } = model.execution;
  const graphs = graphPaths(model, [ROLE]);
  const thread = await openSessions({ graphs, threads, providers }, onRun);
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
