import { openTextEngine, type TextEngine } from "../../../src/models/decoder/open.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import { type BenchRow, compare, type Pair } from "../report/measure.js";
import { greedyJob, type TextBenchSetup } from "./tokens.js";

const CACHE_BYTES = 2 ** 28;
/** Of the context, what a conversation had before its second turn. */
const HISTORY_SHARE = 0.75;
const NEW_TOKENS = 8;
const ANSWER_TOKENS = 4;
const TURNS = 5;

/** Time to the first token of a second turn: with what the first left in memory, and read anew. */
export async function secondTurnRow(
  { modelPath, threads }: TextBenchSetup,
  rounds: number,
): Promise<BenchRow> {
  const model = await loadModelPackage(modelPath);
  const knowing = await openTextEngine(model, { threads, promptCacheBytes: CACHE_BYTES });
  const plain = await openTextEngine(model, { threads });
  try {
    const history = Math.floor(HISTORY_SHARE * knowing.info.contextTokens);
    const pairs: Pair[] = [];
    for (let turn = -1; turn < rounds * TURNS; turn += 1) {
      const pair = {
        ours: await secondTurnMs(knowing, history, turn),
        against: await secondTurnMs(plain, history, turn),
      };
      if (turn >= 0) pairs.push(pair);
    }
    const what = `text: first token of a turn after ${history} known tokens`;
    return compare({ what, unit: "ms", target: null }, pairs);
  } finally {
    await knowing.close();
    await plain.close();
  }
}

/** Milliseconds of the second turn of a conversation that was never had before. */
async function secondTurnMs(engine: TextEngine, history: number, turn: number): Promise<number> {
  const { vocabSize } = engine.info;
  const tokens = Array.from(
    { length: history + NEW_TOKENS },
    (_, at) => 3 + ((at * 7 + (turn + 2) * 31) % (vocabSize - 3)),
  );
  await firstTokenMs(engine, tokens.slice(0, history));
  return await firstTokenMs(engine, tokens);
}

async function firstTokenMs(engine: TextEngine, promptTokens: readonly number[]): Promise<number> {
  const startedAt = performance.now();
  let firstMs: number | undefined;
  const job = { ...greedyJob("", ANSWER_TOKENS), promptTokens, cacheScope: "bench" };
  for await (const event of engine.generate(job, new AbortController().signal))
    if (event.type === "text") firstMs ??= performance.now() - startedAt;
  return firstMs ?? Number.NaN;
}
