import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { openProgress } from "../../../src/bin/commands/progress.js";
import type { Stack } from "../../../src/bin/stack.js";
import type { Config } from "../../../src/config.js";
import { createOperations } from "../../../src/front/operations/index.js";
import type { SuiteOptions } from "../bench.js";
import type { BenchResult } from "../report/measure.js";
import { partsOf, withBenchStack } from "../service/stack.js";
import { createTexts } from "../text/requests.js";
import { BENCH_REQUEST } from "./clip.js";
import { Refused, type Send } from "./drive.js";
import { benchLoad, type LoadKind, planOf } from "./load-levels.js";

const CLIP_MODEL = "service-motion-1";
const EMBEDDINGS_MODEL = "service-embed-1";
const SEED = 1;

type Levels = Pick<LoadKind, "closed" | "open">;

/** How much of each kind is sent: with what is waited for, at most 4 minutes; quickly, one. */
const CLIPS: Levels = {
  closed: { clients: [1, 2], windowMs: 12_000 },
  open: { rates: [0.5, 0.8, 1.1], windowMs: 28_000 },
};
const QUICK_CLIPS: Levels = {
  closed: { clients: [2], windowMs: 6_000 },
  open: { rates: [0.8], windowMs: 8_000 },
};
const EMBEDDINGS: Levels = {
  closed: { clients: [1, 8, 32], windowMs: 4_000 },
  open: { rates: [0.25, 0.5, 0.75, 1], windowMs: 4_000 },
};
const QUICK_EMBEDDINGS: Levels = {
  closed: { clients: [32], windowMs: 1_500 },
  open: { rates: [0.4, 0.8], windowMs: 1_500 },
};
/** Answers are waited for as long as they could be good ones, and at least so long. */
const LEAST_GRACE_MS = 3_000;
/** Longest wait for the worker to let go of what was cancelled, in milliseconds. */
const SETTLE_MS = 10_000;
const SETTLE_POLL_MS = 20;

/** Clips and embeddings over HTTP, at rates that follow from what this machine does at most. */
export async function runLoad(
  config: Config,
  _rounds: number,
  options: SuiteOptions,
): Promise<BenchResult> {
  const models = [CLIP_MODEL, EMBEDDINGS_MODEL];
  return await withBenchStack({ ...config, models }, async (stack) => {
    const kinds = loadKinds(stack, options);
    const { levels, mostMs } = planOf(kinds);
    process.stderr.write(`load: ${levels} levels, at most ${Math.ceil(mostMs / 1_000)} s\n`);
    const progress = openProgress();
    const onLevel = (name: string, done: number) => progress.update((100 * done) / levels, name);
    try {
      return await benchLoad({ kinds, parts: partsOf(config, stack), seed: SEED, onLevel });
    } finally {
      progress.close();
    }
  });
}

function loadKinds(
  stack: Stack,
  { quick = false, objective = 15, replyObjective = 0.1 }: SuiteOptions,
): LoadKind[] {
  const clips = createClipSender(stack.endpoint);
  return [
    {
      name: "embeddings",
      send: sendEmbeddings(stack.endpoint, EMBEDDINGS_MODEL),
      settle: () => untilIdle(stack),
      waitsMs: waitsOf(stack, "embeddings"),
      ...waitingFor(replyObjective),
      ...(quick ? QUICK_EMBEDDINGS : EMBEDDINGS),
    },
    {
      name: "clips",
      send: clips.send,
      async settle() {
        await clips.cancelOpen();
        await untilIdle(stack);
      },
      waitsMs: waitsOf(stack, "video"),
      ...waitingFor(objective),
      ...(quick ? QUICK_CLIPS : CLIPS),
    },
  ];
}

function waitingFor(objectiveSeconds: number): Pick<LoadKind, "objectiveSeconds" | "graceMs"> {
  return { objectiveSeconds, graceMs: Math.max(objectiveSeconds * 1_000, LEAST_GRACE_MS) };
}

/** One level's leftovers must not count in the next. */
async function untilIdle({ worker }: Stack): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  while (worker.state !== "ready" && performance.now() < until) await sleep(SETTLE_POLL_MS);
}

/** From acceptance to the worker's claim, by the database's clock. */
function waitsOf({ front }: Stack, modality: string): LoadKind["waitsMs"] {
  const operations = createOperations(front.database, front.keys);
  return async (sinceUnixMs, atMost) =>
    (await operations.listJobs({ limit: atMost }))
      .filter((job) => job.modality === modality && Date.parse(job.createdAt) >= sinceUnixMs)
      .filter(({ startedAt }) => startedAt !== null)
      .map(({ startedAt, createdAt }) => Date.parse(startedAt ?? "") - Date.parse(createdAt));
}

export interface LoadTarget {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

const POLL_MS = 50;
/** Longest wait for the answer to a cancellation, in milliseconds. */
const CANCEL_MS = 5_000;
const REFUSED: ReadonlySet<number> = new Set([429, 503]);
const video = z.object({ id: z.string(), status: z.string() });

/** Sends a clip, of the fast tier where nothing else is asked; gives its id. */
export async function postClip(
  target: LoadTarget,
  seed: number,
  signal: AbortSignal,
  wanted: ClipWanted = BENCH_REQUEST,
): Promise<string> {
  const { model, prompt } = BENCH_REQUEST;
  const { seconds, quality } = wanted;
  const body = { model, prompt, seconds, quality, seed };
  return video.parse(await call(target, "/videos", { body, signal })).id;
}

export async function cancelClip(
  target: LoadTarget,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  await call(target, `/videos/${id}/cancel`, { body: {}, signal });
}

/** Clips that are waited for, and what of them is not done. */
export interface ClipSender {
  /** One clip, until it can be downloaded. */
  readonly send: Send;
  /** Cancels every clip that was given up before its end. */
  readonly cancelOpen: () => Promise<void>;
}

type ClipWanted = Pick<typeof BENCH_REQUEST, "seconds" | "quality">;

export function createClipSender(target: LoadTarget, wanted?: ClipWanted): ClipSender {
  const open = new Set<string>();
  return {
    async send(seed, signal) {
      const id = await postClip(target, seed, signal, wanted);
      open.add(id);
      const status = await untilEnded(target, id, signal);
      open.delete(id);
      if (status !== "completed") throw new Error(`${id} is ${status}`);
    },
    async cancelOpen() {
      const signal = AbortSignal.timeout(CANCEL_MS);
      const cancelling = [...open].map((id) => cancelClip(target, id, signal));
      open.clear();
      // What has ended meanwhile cannot be cancelled any more.
      await Promise.allSettled(cancelling);
    },
  };
}

async function untilEnded(target: LoadTarget, id: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const { status } = video.parse(await call(target, `/videos/${id}`, { signal }));
    if (status !== "queued" && status !== "in_progress") return status;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** One short text that no request before it held. */
export function sendEmbeddings(target: LoadTarget, model: string): Send {
  const texts = createTexts();
  return async (_index, signal) => {
    const [input] = texts(1);
    await call(target, "/embeddings", { body: { model, input }, signal });
  };
}

async function call(
  { baseUrl, apiKey }: LoadTarget,
  path: string,
  { body, signal }: { readonly body?: object; readonly signal: AbortSignal },
): Promise<unknown> {
  const response = await fetch(baseUrl + path, {
    signal,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const message = `${path} answered ${response.status}: ${text.slice(0, 200)}`;
  throw REFUSED.has(response.status) ? new Refused(message) : new Error(message);
}
