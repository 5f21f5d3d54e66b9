import type { LoadKind } from "../../bench/load.js";
import type { BenchResult } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { createOperations } from "../../front/operations.js";
import type { Stack } from "../stack.js";
import { partsOf, withBenchStack } from "./bench-stack.js";
import type { SuiteOptions } from "./bench-options.js";

const CLIP_MODEL = "service-motion-1";
const EMBEDDINGS_MODEL = "service-embed-1";
const SEED = 1;

/** How much of each kind is sent; a quick run sends less. */
const CLIPS = { clients: [1, 2], rates: [0.5, 0.8, 1.1], windowMs: 45_000 };
const QUICK_CLIPS = { clients: [2], rates: [0.5, 0.9], windowMs: 12_000 };
const EMBEDDINGS = { clients: [1, 8, 32], rates: [0.25, 0.5, 0.75, 1], windowMs: 8_000 };
const QUICK_EMBEDDINGS = { clients: [32], rates: [0.4, 0.8], windowMs: 2_000 };
const MOST = { count: 5_000, graceMs: 120_000 };

/** Clips and embeddings over HTTP, at rates that follow from what this machine does at most. */
export async function runLoad(
  config: Config,
  _rounds: number,
  { quick = false, objective = 15, replyObjective = 0.1 }: SuiteOptions,
): Promise<BenchResult> {
  const { benchLoad } = await import("../../bench/load.js");
  const { sendClips, sendEmbeddings } = await import("../../bench/load-kinds.js");
  const models = [CLIP_MODEL, EMBEDDINGS_MODEL];
  return await withBenchStack({ ...config, models }, async (stack) => {
    const clips: LoadKind = {
      name: "clips",
      send: sendClips(stack.endpoint),
      waitsMs: waitsOf(stack, "video"),
      objectiveSeconds: objective,
      ...MOST,
      ...(quick ? QUICK_CLIPS : CLIPS),
    };
    const embeddings: LoadKind = {
      name: "embeddings",
      send: sendEmbeddings(stack.endpoint, EMBEDDINGS_MODEL),
      waitsMs: waitsOf(stack, "embeddings"),
      objectiveSeconds: replyObjective,
      ...MOST,
      ...(quick ? QUICK_EMBEDDINGS : EMBEDDINGS),
    };
    const parts = partsOf(config, stack);
    return await benchLoad({ kinds: [embeddings, clips], parts, seed: SEED });
  });
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
