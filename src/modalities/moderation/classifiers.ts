import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import { fitPicture } from "../../media/image.js";
import { openBagOfWords, type WordCounts } from "../../models/bag-of-words/open.js";
import { openTextClassifier } from "../../models/encoder/open.js";
import {
  openPictureClassifier,
  type PicturePixels,
  toPlanes,
} from "../../models/image-classifier/open.js";
import { openModel } from "../../models/registry.js";
import { yieldToEventLoop } from "../../runtime/batching/yield-to-event-loop.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import {
  coveredBy,
  createLabelScorer,
  mapLabels,
  type ModerationShapes,
  scoreCategories,
} from "./labels.js";
import type { Category } from "./request.js";

export interface PartScores {
  /** In the order of `CATEGORIES`, 0 to 1. */
  readonly scores: readonly number[];
  readonly tokens: number;
}

type ScoreContext = Pick<PipelineContext, "signal" | "tenant">;

/** Classifiers texts (strings) or pictures (PNG bytes), with the jobs that run beside. */
export interface ModerationModel<Input> {
  readonly covered: readonly Category[];
  score(inputs: readonly Input[], context: ScoreContext): Promise<PartScores[]>;
  close(): Promise<void>;
}

/** Pipeline `encoder`. A text that is longer than the model reads is scored window by window. */
export async function openTextModeration(
  model: ModelPackage,
  setup: PipelineSetup,
  shapes: ModerationShapes,
): Promise<ModerationModel<string>> {
  const classifier = await openTextClassifier(model, setup);
  const { tokens, maxTokens, labels, config } = classifier;
  const { template, contentOf } = tokens;
  const scorer = createLabelScorer(labels, shapes, config);
  const room = maxTokens - template.singleAdded;
  return {
    covered: scorer.covered,
    async score(texts, { signal }) {
      const pause = yieldToEventLoop(signal);
      const windows: { readonly text: number; readonly content: Int32Array }[] = [];
      for (const [text, whole] of texts.entries()) {
        for (const piece of cutPieces(whole)) {
          await pause();
          windows.push(...cutWindows(contentOf(piece), room).map((content) => ({ text, content })));
        }
      }
      const sequences = windows.map(({ content }) => template.single(content));
      const rows = await classifier.run(sequences, signal);
      const scored = rows.map((row, at) => ({
        text: windows[at]?.text,
        scores: scorer.score(row),
        tokens: sequences[at]?.length ?? 0,
      }));
      return texts.map((_, text) => worst(scored.filter((window) => window.text === text)));
    },
    close: () => classifier.close(),
  };
}

/** The greatest score of each category over the parts of one input. */
export function worst(scored: readonly PartScores[]): PartScores {
  const [first, ...more] = scored;
  if (first === undefined) return { scores: [], tokens: 0 };
  return more.reduce<PartScores>(
    (sum, { scores, tokens }) => ({
      scores: sum.scores.map((score, at) => Math.max(score, scores[at] ?? 0)),
      tokens: sum.tokens + tokens,
    }),
    first,
  );
}

/** Models of other pipelines that judge texts. */
export async function openGuardModeration(
  model: ModelPackage,
  setup: PipelineSetup,
  shapes: ModerationShapes,
): Promise<ModerationModel<string>> {
  const guard = await openModel("moderation", model, setup);
  try {
    const map = mapLabels(guard.labels, shapes.labels);
    return {
      covered: coveredBy(map),
      async score(texts, context) {
        const pieces = texts.flatMap((whole, text) =>
          cutPieces(whole).map((piece) => ({ text, piece })),
        );
        const judged = await guard.judge(
          pieces.map(({ piece }) => piece),
          context,
        );
        const scored = judged.map(({ probabilities, tokens }, at) => ({
          text: pieces[at]?.text,
          scores: scoreCategories(map, probabilities),
          tokens,
        }));
        return texts.map((_, text) => worst(scored.filter((piece) => piece.text === text)));
      },
      close: () => guard.close(),
    };
  } catch (thrown) {
    await guard.close();
    throw thrown;
  }
}

/** What the probability of profanity-check and its like stands for. */
const WORD_LABELS = ["toxic"];

/** Pipeline `bag-of-words`: the graph gives probabilities. A word counts as a token. */
export async function openWordModeration(
  model: ModelPackage,
  setup: PipelineSetup,
  shapes: ModerationShapes,
): Promise<ModerationModel<string>> {
  const map = mapLabels(WORD_LABELS, shapes.labels);
  const bag = await openBagOfWords(model, setup);
  return {
    covered: coveredBy(map),
    async score(texts, { signal }) {
      const pause = yieldToEventLoop(signal);
      const counts: WordCounts[] = [];
      for (const text of texts) {
        await pause();
        counts.push(bag.count(text));
      }
      const rows = await bag.run(counts, signal);
      return rows.map((row, at) => ({
        scores: scoreCategories(map, Array.from(row)),
        tokens: [...(counts[at]?.counts.values() ?? [])].reduce((sum, count) => sum + count, 0),
      }));
    },
    close: () => bag.close(),
  };
}

/** Pipeline `image-classifier`. */
export async function openPictureModeration(
  model: ModelPackage,
  setup: PipelineSetup,
  shapes: ModerationShapes,
): Promise<ModerationModel<Uint8Array>> {
  const classifier = await openPictureClassifier(model, setup);
  const { labels, config, settings, size } = classifier;
  const scorer = createLabelScorer(labels, shapes, config);
  const fit = { resize: settings.resize, filter: settings.filter, size };
  return {
    covered: scorer.covered,
    async score(pictures, { signal }) {
      const planes: PicturePixels[] = [];
      for (const picture of pictures) {
        signal.throwIfAborted();
        planes.push(toPlanes(await fitPicture(picture, fit), settings));
      }
      const rows = await classifier.run(planes, signal);
      return rows.map((row) => ({ scores: scorer.score(row), tokens: 0 }));
    },
    close: () => classifier.close(),
  };
}

/** Characters that are tokenised in one go. */
const PIECE_CHARACTERS = 16_384;
const PIECE_OVERLAP = 256;
/** Tokens that a window has in common with the one before. */
const WINDOW_OVERLAP = 64;

/** A text in pieces that overlap a little, cut at white space where there is some near the end. */
export function cutPieces(text: string, most = PIECE_CHARACTERS): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > most) {
    const space = text.lastIndexOf(" ", from + most);
    const to = space > from + most / 2 ? space : from + most;
    pieces.push(text.slice(from, to));
    from = Math.max(from + 1, to - Math.min(PIECE_OVERLAP, most / 4));
  }
  return [...pieces, text.slice(from)];
}

/** Tokens in windows of at most `room`; the last one ends with the text. */
export function cutWindows(content: Int32Array, room: number): Int32Array[] {
  if (content.length <= room) return [content];
  const stride = room - Math.min(WINDOW_OVERLAP, Math.floor(room / 4));
  const windows: Int32Array[] = [];
  for (let from = 0; from + room < content.length; from += stride)
    windows.push(content.subarray(from, from + room));
  windows.push(content.subarray(content.length - room));
  return windows;
}
