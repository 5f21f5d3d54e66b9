/** Saturation of a word's count and share of the length's influence (Robertson's BM25, usual values). */
const K1 = 1.2;
const B = 0.75;
const ENDINGS = ["ings", "ing", "edly", "ed", "es", "ly", "s"];
const SHORTEST_STEM = 4;

/** Scores of all passages for a query, in their order. */
export type Ranker = (query: string) => number[];

/** BM25 over passages, words cut to crude stems: what a search by words finds. */
export function createBm25(passages: readonly string[]): Ranker {
  const counts = passages.map(countStems);
  const lengths = counts.map((words) => [...words.values()].reduce((sum, count) => sum + count, 0));
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / passages.length;
  const frequency = new Map<string, number>();
  for (const word of counts.flatMap((words) => [...words.keys()]))
    frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const rarity = (word: string) => {
    const having = frequency.get(word) ?? 0;
    return Math.log(1 + (passages.length - having + 0.5) / (having + 0.5));
  };
  return (query) => {
    const asked = stemsOf(query).map((word) => [word, rarity(word)] as const);
    return counts.map((words, at) => {
      const damping = K1 * (1 - B + (B * (lengths[at] ?? 0)) / averageLength);
      return asked.reduce((sum, [word, weight]) => {
        const count = words.get(word) ?? 0;
        return sum + (weight * count * (K1 + 1)) / (count + damping);
      }, 0);
    });
  };
}

function countStems(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of stemsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Lower-case runs of letters and digits without common endings, in their order. */
function stemsOf(text: string): string[] {
  return [...text.toLowerCase().matchAll(/[a-z0-9]+/g)].map(([word]) => {
    const ending = ENDINGS.find(
      (end) => word.endsWith(end) && word.length - end.length >= SHORTEST_STEM,
    );
    return ending === undefined ? word : word.slice(0, -ending.length);
  });
}

const MOST_RANKED = 10;

/** nDCG@10 of one query with one right passage; passages of one score stay in their order. */
export function ndcgAt10(scores: readonly number[], answer: number): number {
  const own = scores[answer] ?? Number.NaN;
  const rank = scores.filter((score, at) => score > own || (score === own && at < answer)).length;
  return rank < MOST_RANKED && !Number.isNaN(own) ? 1 / Math.log2(rank + 2) : 0;
}

/** Whether the answer's score is above all others. */
export function isFirst(scores: readonly number[], answer: number): boolean {
  const own = scores[answer] ?? Number.NaN;
  return scores.every((score, at) => at === answer || own > score);
}

/** Area under the ROC curve: how often a positive is above a negative, a tie counting half. */
export function areaUnderCurve(positives: readonly number[], negatives: readonly number[]): number {
  if (positives.length === 0 || negatives.length === 0) return Number.NaN;
  const sorted = negatives.toSorted((a, b) => a - b);
  const below = (value: number, inclusive: boolean) => {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = sorted[middle] ?? 0;
      if (other < value || (inclusive && other === value)) from = middle + 1;
      else to = middle;
    }
    return from;
  };
  const wins = positives.reduce(
    (sum, value) => sum + (below(value, false) + below(value, true)) / 2,
    0,
  );
  return wins / (positives.length * negatives.length);
}
