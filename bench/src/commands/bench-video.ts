import { BENCH_REQUEST } from "../clip.js";
import type { BenchResult } from "../measure.js";
import type { Upload } from "../queued-clips.js";
import { DOLLARS_PER_HOUR } from "../stages.js";
import type { Config } from "../../../src/config.js";
import type { PipelineSetup } from "../../../src/core/modality.js";
import { findPrices } from "../../../src/core/prices.js";
import { createOperations } from "../../../src/front/operations/index.js";
import { readPriceTable } from "../../../src/front/ledger/index.js";
import type { Parts } from "../../../src/bin/parts.js";
import { partsOf, withBenchStack } from "./bench-stack.js";
import type { SuiteOptions } from "./bench-options.js";

/** Prices are micro-dollars. */
const MICRO = 1e6;

interface VideoRun {
  readonly config: Config;
  readonly rounds: number;
  readonly options: SuiteOptions;
}

/** The pipeline by itself, then the same clip through the whole service. */
export async function runVideo(
  setup: PipelineSetup,
  { config, rounds, options }: VideoRun,
): Promise<BenchResult> {
  const [{ benchVideo }, { benchFusedSteps }, { benchQueuedClips }] = await Promise.all([
    import("../video.js"),
    import("../fused-steps.js"),
    import("../queued-clips.js"),
  ]);
  const bare = await benchVideo(setup, rounds);
  const fused = await benchFusedSteps(setup, rounds);
  const { dollarsPerHour = DOLLARS_PER_HOUR } = options;
  const uploads = new Map<string, Upload[]>();
  const served = { ...config, models: [BENCH_REQUEST.model] };
  const watch = (parts: Parts) => watchUploads(parts, uploads);
  return await withBenchStack(
    served,
    async (stack) => {
      const { front, endpoint } = stack;
      const operations = createOperations(front.database, front.keys);
      const service = {
        ...endpoint,
        listJobs: (newest: number) => operations.listJobs({ limit: newest }),
        uploadsOf: (id: string) => uploads.get(id) ?? [],
      };
      const dollarsPerSecond = await priceOf(config);
      const queued = await benchQueuedClips(service, rounds, { dollarsPerHour, dollarsPerSecond });
      return {
        ...bare,
        conditions: { ...bare.conditions, parts: partsOf(config, stack) },
        rows: [...bare.rows, fused, ...queued.rows],
        distributions: [...(bare.distributions ?? []), ...queued.distributions],
      };
    },
    watch,
  );
}

/** Dollars a second of the clip that the suite makes. */
async function priceOf({ pricesFile }: Config): Promise<number> {
  const { model, quality } = BENCH_REQUEST;
  const row = { modality: "video", tier: quality, model };
  const { videoSeconds = 0 } = findPrices(await readPriceTable(pricesFile), row);
  return videoSeconds / MICRO;
}

/** Notes when each file of a job is stored; artifact ids begin with the job's. */
function watchUploads({ store }: Parts, uploads: Map<string, Upload[]>): void {
  const putFile = store.putFile.bind(store);
  store.putFile = async (put, path, signal) => {
    const startedAtMs = Date.now();
    const stored = await putFile(put, path, signal);
    const [jobId = ""] = put.id.split("/");
    const upload = { startedAtMs, endedAtMs: Date.now() };
    uploads.set(jobId, [...(uploads.get(jobId) ?? []), upload]);
    return stored;
  };
}
