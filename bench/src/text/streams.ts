import { openTextEngine, type TextEngine } from "../../../src/models/decoder/open.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import {
  type BenchResult,
  distribute,
  type Distribution,
  median,
  type Series,
} from "../report/measure.js";
import { greedyJob, type TextBenchSetup } from "./tokens.js";

const STREAMS = [1, 8, 32];
const PROMPT = "Once upon a time";
const TOKENS = 200;

/** Of one stream, in milliseconds from its beginning. */
interface Stream {
  readonly firstMs: number;
  /** Between one token and the next; tokens that came at once share their wait. */
  readonly gapsMs: readonly number[];
  readonly totalMs: number;
  readonly tokens: number;
}

/** How tokens of the bare engine come, of as many greedy streams at once: waits and rates. */
export async function streamSpread(
  { modelPath, threads }: TextBenchSetup,
  rounds: number,
): Promise<Required<Pick<BenchResult, "distributions" | "series">>> {
  const engine = await openTextEngine(await loadModelPackage(modelPath), { threads });
  try {
    const distributions: Distribution[] = [];
    const points: [number, number][] = [];
    for (const count of STREAMS) {
      const measured = await measureStreams(engine, count, rounds);
      distributions.push(...measured.distributions);
      points.push([count, measured.rate]);
    }
    return { distributions, series: [seriesOf(points)] };
  } finally {
    await engine.close();
  }
}

function seriesOf(points: Series["points"]): Series {
  return { name: "text", xLabel: "streams at once", yLabel: "tokens/s of all", points };
}

async function measureStreams(engine: TextEngine, count: number, rounds: number) {
  const streams: Stream[] = [];
  const rates: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAt = performance.now();
    const read = await Promise.all(Array.from({ length: count }, () => readStream(engine)));
    const seconds = (performance.now() - startedAt) / 1_000;
    if (round < 0) continue;
    streams.push(...read);
    rates.push(read.reduce((sum, { tokens }) => sum + tokens, 0) / seconds);
  }
  const at = (what: string) => `text, ${count} at once: ${what}`;
  const rate = { what: at("tokens/s of a stream"), unit: "tokens/s" };
  return {
    rate: median(rates),
    distributions: [
      distribute(
        { what: at("first token"), unit: "ms" },
        streams.map(({ firstMs }) => firstMs),
      ),
      distribute(
        { what: at("between tokens"), unit: "ms" },
        streams.flatMap(({ gapsMs }) => gapsMs),
      ),
      distribute(
        rate,
        streams.map(({ tokens, totalMs }) => (tokens * 1_000) / totalMs),
      ),
      distribute({ what: at("tokens/s of all"), unit: "tokens/s" }, rates),
    ],
  };
}

async function readStream(engine: TextEngine): Promise<Stream> {
  const startedAt = performance.now();
  let firstMs: number | undefined;
  let lastMs = 0;
  let tokens = 0;
  const gapsMs: number[] = [];
  const job = greedyJob(PROMPT, TOKENS);
  for await (const event of engine.generate(job, new AbortController().signal)) {
    if (event.type !== "text" || event.tokenIds.length === 0) continue;
    const nowMs = performance.now() - startedAt;
    const { length } = event.tokenIds;
    if (firstMs === undefined) firstMs = nowMs;
    else for (const _ of event.tokenIds) gapsMs.push((nowMs - lastMs) / length);
    lastMs = nowMs;
    tokens += length;
  }
  return { firstMs: firstMs ?? Number.NaN, gapsMs, totalMs: lastMs, tokens };
}
