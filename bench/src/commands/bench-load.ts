import { setTimeout as sleep } from "node:timers/promises";
import type { LoadKind } from "../load.js";
import type { BenchResult } from "../measure.js";
import type { Config } from "../../../src/config.js";
import { createOperations } from "../../../src/front/operations/index.js";
import type { Stack } from "../../../src/bin/stack.js";
import { partsOf, withBenchStack } from "./bench-stack.js";
import type { SuiteOptions } from "./bench-options.js";
import { openProgress } from "../../../src/bin/commands/progress.js";

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
  const { benchLoad, planOf } = await import("../load.js");
  const models = [CLIP_MODEL, EMBEDDINGS_MODEL];
  return await withBenchStack({ ...config, models }, async (stack) => {
    const kinds = await loadKinds(stack, options);
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

async function loadKinds(
  stack: Stack,
  { quick = false, objective = 15, replyObjective = 0.1 }: SuiteOptions,
): Promise<LoadKind[]> {
  const { createClipSender, sendEmbeddings } = await import("../load-kinds.js");
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
