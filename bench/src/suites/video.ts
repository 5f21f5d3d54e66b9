import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Parts } from "../../../src/bin/parts.js";
import type { Config } from "../../../src/config.js";
import { unixMs } from "../../../src/core/time.js";
import type { Pipeline, PipelineSetup } from "../../../src/core/modality.js";
import { findPrices } from "../../../src/core/prices.js";
import { readPriceTable } from "../../../src/front/ledger/index.js";
import { createOperations } from "../../../src/front/operations/index.js";
import { openEncoder } from "../../../src/media/encoder.js";
import { createVideoPipeline } from "../../../src/modalities/video/pipeline.js";
import type { VideoOutput, VideoRequest } from "../../../src/modalities/video/request.js";
import { type MotionModel, openMotionModel } from "../../../src/models/motion/model.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import type { SuiteOptions } from "../bench.js";
import { benchQueuedClips, type Upload } from "./queued-clips.js";
import {
  type BenchResult,
  type BenchRow,
  compare,
  machine,
  type Pair,
  timed,
} from "../report/measure.js";
import { partsOf, pipelineSetup, withBenchStack } from "../service/stack.js";
import { BENCH_REQUEST, runGraphs } from "./clip.js";
import {
  type ClipStages,
  type ReceivedRun,
  stageDistributions,
  coveredMs,
  DOLLARS_PER_HOUR,
  peakMemory,
} from "./pipeline-runs.js";

/** Prices are micro-dollars. */
const MICRO = 1e6;

/** The pipeline by itself, then the same clip through the whole service. */
export async function runVideo(
  config: Config,
  rounds: number,
  { dollarsPerHour = DOLLARS_PER_HOUR }: SuiteOptions,
): Promise<BenchResult> {
  const setup = pipelineSetup(config);
  const bare = await benchVideo(setup, rounds);
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
        rows: [...bare.rows, ...queued.rows],
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

type ClipTimes = Omit<ClipStages, "loadSeconds">;

interface Round extends ClipStages {
  /** While at least one graph of the clip ran. */
  readonly runSeconds: number;
  /** The same graphs alone on the machine, with nothing to feed. */
  readonly graphSeconds: number;
  /** Encoding the same frames once they are all made. */
  readonly encodeSeconds: number;
}

/** A whole clip against its graphs, and its encode tail against encoding afterwards. */
export async function benchVideo(setup: PipelineSetup, rounds: number): Promise<BenchResult> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  const runs: ReceivedRun[] = [];
  const onRun: PipelineSetup["onRun"] = (run) => void runs.push({ ...run, receivedAtMs: unixMs() });
  const pipeline = await createVideoPipeline({ ...setup, onRun });
  const model = await openMotionModel(await loadModelPackage(setup.modelPath), setup);
  try {
    const subject = { pipeline, model, runs, folder, setup };
    await makeClip(subject);
    const memory = await peakMemory("first clip", setup.providers);
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round++) measured.push(await measureRound(subject));
    return {
      suite: "video",
      conditions: { ...conditions(setup, rounds), ...memory },
      rows: rowsOf(measured),
      distributions: stageDistributions(measured),
    };
  } finally {
    await pipeline.close();
    await model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function rowsOf(measured: readonly Round[]): BenchRow[] {
  const row = (what: string, target: number | null, pair: (round: Round) => Pair) =>
    compare({ what, unit: "s", target }, measured.map(pair));
  return [
    row("clip / (its session.run time + encode tail)", 1.1, (it) => ({
      ours: it.totalSeconds,
      against: it.runSeconds + it.tailSeconds,
    })),
    row("clip / (the graphs alone + encode tail)", null, (it) => ({
      ours: it.totalSeconds,
      against: it.graphSeconds + it.tailSeconds,
    })),
    row("encode tail / encoding afterwards", 0.2, (it) => ({
      ours: it.tailSeconds,
      against: it.encodeSeconds,
    })),
    row("clip / its playing time", null, (it) => ({
      ours: it.totalSeconds,
      against: BENCH_REQUEST.seconds,
    })),
  ];
}

interface Subject {
  readonly pipeline: Pipeline<VideoRequest, VideoOutput>;
  readonly model: MotionModel;
  readonly runs: ReceivedRun[];
  readonly folder: string;
  readonly setup: PipelineSetup;
}

async function measureRound(subject: Subject): Promise<Round> {
  const { model, folder, setup } = subject;
  const load = await timed(() => createVideoPipeline(setup));
  await load.value.close();
  const clip = await makeClip(subject);
  const windows: Uint8Array[] = [];
  const graphs = await timed(() => runGraphs(model, (frames) => windows.push(frames)));
  const encoded = await timed(() => encodeAll(windows, join(folder, "after.mp4"), setup));
  return {
    ...clip,
    loadSeconds: load.seconds,
    runSeconds: coveredMs(clip.runs) / 1_000,
    graphSeconds: graphs.seconds,
    encodeSeconds: encoded.seconds,
  };
}

async function makeClip({ pipeline, runs, folder: scratchPath }: Subject): Promise<ClipTimes> {
  runs.length = 0;
  const startedAt = performance.now();
  const stageAt = new Map<string, number>();
  const { signal } = new AbortController();
  const readInput = () => Promise.reject(new Error("the bench has no inputs"));
  for await (const event of pipeline.run(BENCH_REQUEST, { signal, scratchPath, readInput })) {
    if (event.type === "progress" && !stageAt.has(event.stage)) {
      stageAt.set(event.stage, performance.now());
    }
  }
  const at = (stage: string) => stageAt.get(stage) ?? Number.NaN;
  return {
    totalSeconds: (performance.now() - startedAt) / 1_000,
    tailSeconds: (at("checking") - at("muxing")) / 1_000,
    runs: [...runs],
  };
}

async function encodeAll(windows: readonly Uint8Array[], path: string, setup: PipelineSetup) {
  const { width, height, seconds } = BENCH_REQUEST;
  const { ffmpegPath } = setup;
  const encoder = await openEncoder({ width, height, frameCount: seconds * 24, path, ffmpegPath });
  for (const frames of windows) await encoder.write(frames);
  await encoder.finish();
}

function conditions({ threads }: PipelineSetup, rounds: number) {
  const { width, height, seconds } = BENCH_REQUEST;
  return { ...machine(), threads, clip: `${width}x${height}, ${seconds} s, 24 fps`, rounds };
}
