import type { Decoder } from "../decoder.js";
import { closeCache, type KvCache, mergeRows, openCache } from "../kv-cache.js";
import type { Alignment } from "../request/request.js";

/** How a graph takes rows of different lengths, and whether it reads a prompt in parts. */
export interface BatchAbilities {
  readonly alignment: Alignment;
  readonly readsInParts: boolean;
}

/** Greatest difference to a lone run, in standard deviations of the logits, that counts as the same. */
const SAME_DEVIATIONS = 0.1;
const SHORT_TOKENS = 2;
const LONG_TOKENS = 7;

/**
 * Asks the graph itself: neither its inputs nor its names tell on which side it wants short rows. Two
 * rows of unlike length are continued together, each way, and compared with lone runs.
 */
export async function findBatchAbilities(
  decoder: Decoder,
  vocabSize: number,
): Promise<BatchAbilities> {
  if (decoder.layout.caches.length === 0) return { alignment: "equal", readsInParts: false };
  const trial = createTrial(decoder, vocabSize);
  try {
    const short = await trial.readInPieces(SHORT_TOKENS);
    const long = await trial.readInPieces(LONG_TOKENS);
    const alignment = await findAlignment(trial, [short, long]);
    return { alignment, readsInParts: await trial.readsInParts(long.logits) };
  } finally {
    trial.close();
  }
}

/**
 * Whether the decoder's caches may be read and written in one memory: a graph's attention does so or does
 * not, and only its numbers tell, which are compared with those of a decoder with memory for each.
 */
export async function sharesBuffers(
  decoder: Decoder,
  reference: Decoder,
  vocabSize: number,
): Promise<boolean> {
  const [shared, separate] = [createTrial(decoder, vocabSize), createTrial(reference, vocabSize)];
  try {
    const { logits } = await shared.readInPieces(SHORT_TOKENS, LONG_TOKENS - SHORT_TOKENS - 1, 1);
    const whole = await separate.readInPieces(LONG_TOKENS);
    return deviation(logits, whole.logits) < SAME_DEVIATIONS;
  } catch {
    return false;
  } finally {
    shared.close();
    separate.close();
  }
}

interface ReadPrompt {
  readonly cache: KvCache;
  /** After the prompt. */
  readonly logits: Float32Array;
}

type Trial = ReturnType<typeof createTrial>;

/** The better of the two, where even that is the same as a lone run. */
async function findAlignment(trial: Trial, prompts: readonly ReadPrompt[]): Promise<Alignment> {
  if (!trial.hasMask) return "equal";
  const caches = prompts.map(({ cache }) => cache);
  const lone: Float32Array[] = [];
  for (const cache of caches) lone.push(await trial.continue([cache], "equal"));
  let best: Alignment = "equal";
  let least = SAME_DEVIATIONS;
  for (const alignment of trial.sides) {
    const together = await trial.continue(caches, alignment).catch(() => undefined);
    const deviations = lone.map((logits, row) => {
      const from = row * logits.length;
      return together ? deviation(together.subarray(from, from + logits.length), logits) : Infinity;
    });
    if (Math.max(...deviations) >= least) continue;
    least = Math.max(...deviations);
    best = alignment;
  }
  return best;
}

function createTrial(decoder: Decoder, vocabSize: number) {
  const { layout } = decoder;
  const opened = new Set<KvCache>();
  const tokens = Array.from({ length: LONG_TOKENS }, (_, index) => (37 * index + 11) % vocabSize);
  const forward = async (cache: KvCache, part: readonly number[], alignment: Alignment) => {
    opened.add(cache);
    const width = part.length / cache.lengths.length;
    const given = { cache, tokens: part, width, alignment, wantsLogits: true, isTrial: true };
    const output = await decoder.forward(given);
    opened.add(output.cache);
    return { cache: output.cache, logits: output.logits.slice() };
  };
  const readInPieces = async (...widths: readonly number[]): Promise<ReadPrompt> => {
    let read = { cache: openCache(layout.caches), logits: new Float32Array(0) };
    let start = 0;
    for (const width of widths) {
      read = await forward(read.cache, tokens.slice(start, start + width), "equal");
      start += width;
    }
    return read;
  };
  return {
    hasMask: layout.attentionMask !== undefined,
    /** Shared buffers have their room at the end. */
    sides: layout.caches.some(({ sharesBuffer }) => sharesBuffer)
      ? (["start"] as const)
      : (["end", "start"] as const),
    readInPieces,
    /** Logits [rows, vocabSize] after one more token; the caches stay as they are. */
    async continue(caches: readonly KvCache[], alignment: Alignment): Promise<Float32Array> {
      const rows = caches.map((cache) => ({ cache, row: 0 }));
      const next = caches.map(() => tokens[0] ?? 0);
      const merged = mergeRows(layout.caches, { rows, alignment });
      return (await forward(merged, next, alignment)).logits;
    },
    async readsInParts(whole: Float32Array): Promise<boolean> {
      try {
        const { logits } = await readInPieces(3, LONG_TOKENS - 3);
        return deviation(logits, whole) < SAME_DEVIATIONS;
      } catch {
        return false;
      }
    },
    close() {
      for (const cache of opened) closeCache(cache);
    },
  };
}

/** Greatest difference in standard deviations of the second; infinite where one is not a number. */
function deviation(logits: Float32Array, reference: Float32Array): number {
  const mean = reference.reduce((sum, value) => sum + value, 0) / reference.length;
  const variance =
    reference.reduce((sum, value) => sum + (value - mean) ** 2, 0) / reference.length;
  let greatest = 0;
  for (let index = 0; index < reference.length; index += 1) {
    const difference = Math.abs((logits[index] ?? 0) - (reference[index] ?? 0));
    if (Number.isNaN(difference)) return Infinity;
    greatest = Math.max(greatest, difference);
  }
  return greatest / Math.sqrt(variance + Number.MIN_VALUE);
}
