import { openTextEngine, type TextEngine } from "../../../src/models/decoder/open.js";
import type { TextJob } from "../../../src/models/decoder/request/request.js";
import { gaussianNoise } from "../../../src/models/sampling/noise.js";
import { randomStream } from "../../../src/models/sampling/noise.js";
import { TokenSampler } from "../../../src/models/sampling/token-sampler.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import { openPeerWriter, type PeerWriter } from "./transformers-js.js";
import { type BenchRow, compare, type Pair, timed } from "../report/measure.js";

export interface TextBenchSetup {
  /** A package that is also a folder of the optimum layout: transformers.js opens it too. */
  readonly modelPath: string;
  readonly threads: number;
}

const PROMPT = "Once upon a time";
const TOKENS = 200;
const STREAMS = 8;
/** The vocabulary of Qwen 2 and 3. */
const VOCABULARY = 151_936;
const DRAWS = 50;

/**
 * Time of a token against transformers.js on the same graph, alone and of eight streams at once, and
 * the CPU time of drawing one by top-p from a large vocabulary.
 */
export async function textRows(setup: TextBenchSetup, rounds: number): Promise<BenchRow[]> {
  const { modelPath, threads } = setup;
  const peer = await openPeerWriter(modelPath);
  const engine = await openTextEngine(await loadModelPackage(modelPath), { threads });
  try {
    const lone: Pair[] = [];
    const many: Pair[] = [];
    const drawn: Pair[] = [];
    await measureRound(engine, peer);
    for (let done = 0; done < rounds; done += 1) {
      const round = await measureRound(engine, peer);
      lone.push(round.lone);
      many.push(round.many);
      drawn.push(await measureDraws(peer));
    }
    return [
      compare({ what: "text: a token alone, greedy", unit: "ms", target: 1 }, lone),
      compare({ what: `text: a token of ${STREAMS} at once`, unit: "ms", target: 0.333 }, many),
      compare({ what: "text: drawing by top-p", unit: "CPU-ms", target: 0.05 }, drawn),
    ];
  } finally {
    await engine.close();
    await peer.close();
  }
}

/** Milliseconds a token, ours and the peer's: one stream, then several that were begun together. */
async function measureRound(engine: TextEngine, peer: PeerWriter) {
  const perToken = async (stream: () => Promise<void>, streams: number) => {
    const { seconds } = await timed(() => Promise.all(Array.from({ length: streams }, stream)));
    return (seconds * 1_000) / (TOKENS * streams);
  };
  const pair = async (streams: number): Promise<Pair> => ({
    ours: await perToken(() => write(engine), streams),
    against: await perToken(() => peer.write(PROMPT, TOKENS), streams),
  });
  return { lone: await pair(1), many: await pair(STREAMS) };
}

async function write(engine: TextEngine): Promise<void> {
  let tokens = 0;
  for await (const event of engine.generate(
    greedyJob(PROMPT, TOKENS),
    new AbortController().signal,
  ))
    if (event.type === "text") tokens += event.tokenIds.length;
  if (tokens !== TOKENS) throw new Error(`the model ended after ${tokens} of ${TOKENS} tokens`);
}

/** CPU milliseconds a draw, both from the same logits: a bell with a few likely tokens. */
async function measureDraws(peer: PeerWriter): Promise<Pair> {
  const logits = gaussianNoise(1, VOCABULARY).map((value) => 2.5 * value);
  logits.set([14, 13, 12.5, 11], 700);
  const sampler = new TokenSampler(VOCABULARY);
  const random = randomStream(1, 0);
  const settings = { temperature: 0.8, topP: 0.9, topK: 0, minP: 0 };
  const drawAll = async () => {
    for (let draw = 0; draw < DRAWS; draw += 1) sampler.choose(logits, settings, random.at(draw));
  };
  await drawAll();
  const ours = await cpuMs(drawAll);
  const against = await cpuMs(async () => {
    for (let draw = 0; draw < DRAWS / 5; draw += 1) await peer.sample(logits);
  });
  return { ours: ours / DRAWS, against: against / (DRAWS / 5) };
}

/** CPU time of all threads of this process, in milliseconds. */
async function cpuMs(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** One greedy answer of at most `maxTokens` tokens, with nothing asked beside its text. */
export function greedyJob(prompt: string, maxTokens: number): TextJob {
  return {
    prompt,
    maxTokens,
    addSpecialTokens: true,
    n: 1,
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    seed: 1,
    stop: [],
    logitBias: {},
    logprobs: null,
    mask: null,
  };
}
