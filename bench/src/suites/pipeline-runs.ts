import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unixMs } from "../../../src/core/time.js";
import type { PipelineEvent } from "../../../src/core/events.js";
import type { GraphRun, Modality, PipelineSetup } from "../../../src/core/modality.js";
import { findPrices, type PriceTable, tierOf } from "../../../src/core/prices.js";
import { priceOf } from "../../../src/core/usage.js";
import { readDeviceMemory } from "../../../src/runtime/ort/device-memory.js";
import { admitAlone } from "../../../src/runtime/process/open-models.js";
import { loadModelPackage, modelInfo } from "../../../src/runtime/packages/model-package.js";
import {
  type BenchRow,
  compare,
  distribute,
  type Distribution,
  type RowSpec,
} from "../report/measure.js";

/** A model's own pipeline in this process, every run of its graphs noted. */
export interface PipelineSubject {
  readonly modelId: string;
  /** Admits a body as the front would and runs it to its end. */
  make(body: Record<string, unknown>): Promise<MadeRun>;
  close(): Promise<void>;
}

/** One request; times in Unix milliseconds with fractions. */
export interface MadeRun {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The first piece of a streamed answer; null where nothing is streamed. */
  readonly firstChunkAtMs: number | null;
  /** When each file was there. */
  readonly filesAtMs: readonly number[];
  /** Pieces of bytes of a streamed answer, joined. */
  readonly bytes: Uint8Array;
  readonly runs: readonly GraphRun[];
  readonly output: unknown;
  /** What a caller pays. */
  readonly priceUsd: number;
}

export interface SubjectOptions {
  readonly modality: Modality;
  readonly setup: PipelineSetup;
  readonly prices: PriceTable;
}

export async function openSubject(options: SubjectOptions): Promise<PipelineSubject> {
  const { modality, setup } = options;
  const model = await loadModelPackage(setup.modelPath, setup);
  const info = await modelInfo(model);
  let runs: GraphRun[] = [];
  const createPipeline = await modality.loadPipeline();
  const pipeline = await createPipeline({ ...setup, onRun: (run) => void runs.push(run) });
  const folder = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  return {
    modelId: model.id,
    async make(body) {
      const { request, readInput } = await admitAlone({ body, modality, info });
      const scratchPath = await mkdtemp(join(folder, "job-"));
      const { signal } = new AbortController();
      runs = [];
      const startedAtMs = unixMs();
      const events = pipeline.run(request, { signal, scratchPath, readInput });
      const made = await collect(events);
      const endedAtMs = unixMs();
      await rm(scratchPath, { recursive: true });
      const priceUsd = priceUsdOf(options, { model: model.id, request, output: made.output });
      return { ...made, startedAtMs, endedAtMs, runs, priceUsd };
    },
    async close() {
      await pipeline.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function collect(events: AsyncIterable<PipelineEvent>) {
  const filesAtMs: number[] = [];
  const pieces: Uint8Array[] = [];
  let firstChunkAtMs: number | null = null;
  let output: unknown;
  for await (const event of events) {
    if (event.type === "file") filesAtMs.push(unixMs());
    else if (event.type === "output") output = event.output;
    else if (event.type === "chunk") {
      firstChunkAtMs ??= unixMs();
      if (event.chunk.type === "bytes") pieces.push(event.chunk.bytes);
    }
  }
  return { filesAtMs, firstChunkAtMs, bytes: Buffer.concat(pieces), output };
}

interface Sale {
  readonly model: string;
  readonly request: unknown;
  readonly output: unknown;
}

function priceUsdOf({ modality, prices }: SubjectOptions, { model, request, output }: Sale) {
  const tier = tierOf(modality, request);
  const row = { modality: modality.name, model, ...(tier !== undefined && { tier }) };
  return priceOf(findPrices(prices, row), modality.countUnits(request, output)) / 1e6;
}

/** Length of the union of the runs: two at the same time count once. */
export function coveredMs(runs: readonly Pick<GraphRun, "startedAtMs" | "endedAtMs">[]): number {
  let covered = 0;
  let until = 0;
  for (const run of runs.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    covered += Math.max(0, run.endedAtMs - Math.max(run.startedAtMs, until));
    until = Math.max(until, run.endedAtMs);
  }
  return covered;
}

/** Milliseconds of each role's runs, in the order of their first ones. */
function msByRole(runs: readonly GraphRun[]): Map<string, number> {
  const roles = new Set(runs.map(({ role }) => role));
  return new Map(
    [...roles].map((role) => [role, coveredMs(runs.filter((run) => run.role === role))]),
  );
}

/** What an hour of the machine that measures costs, where nobody says: two cores of a cloud's list. */
export const DOLLARS_PER_HOUR = 0.1;

/** What a pipeline does outside of its graphs. */
export interface StageNames {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/** How the whole time of requests of one kind divides, in milliseconds. */
export function stageTimes(
  kind: string,
  names: StageNames,
  made: readonly MadeRun[],
): Distribution[] {
  const stages = new Map<string, number[]>();
  for (const run of made)
    for (const [stage, ms] of stagesOf(run, names))
      stages.set(stage, [...(stages.get(stage) ?? []), ms]);
  return [...stages].map(([stage, values]) =>
    distribute({ what: `${kind}: ${stage}`, unit: "ms" }, values),
  );
}

/** Before the first graph, each graph, between graphs, after the last one, all. */
function stagesOf(run: MadeRun, names: StageNames): [string, number][] {
  const { runs, startedAtMs, endedAtMs } = run;
  const first = Math.min(...runs.map((it) => it.startedAtMs));
  const last = Math.max(...runs.map((it) => it.endedAtMs));
  return [
    [names.before, first - startedAtMs],
    ...msByRole(runs),
    [names.between, last - first - coveredMs(runs)],
    [names.after, endedAtMs - last],
    ["end to end", wallMs(run)],
  ];
}

export function wallMs({ startedAtMs, endedAtMs }: MadeRun): number {
  return endedAtMs - startedAtMs;
}

/** From the last graph's end: encoding what it made. */
export function tailMs({ runs, endedAtMs }: MadeRun): number {
  return endedAtMs - Math.max(...runs.map((it) => it.endedAtMs));
}

/** A row of one pair for each request. */
export function rowOf(
  what: string,
  unit: string,
  made: readonly MadeRun[],
  pair: (run: MadeRun) => readonly [ours: number, against: number],
): BenchRow {
  const spec: RowSpec = { what, unit, target: null };
  const pairs = made.map(pair).map(([ours, against]) => ({ ours, against }));
  return compare(spec, pairs);
}

/** Dollars of the machine's time for a unit of what is sold beside what a caller pays for it. */
export function costRow(
  what: string,
  made: readonly MadeRun[],
  { dollarsPerHour, unitsOf }: { dollarsPerHour: number; unitsOf: (run: MadeRun) => number },
): BenchRow {
  return rowOf(what, "$", made, (run) => [
    ((wallMs(run) / 3_600_000) * dollarsPerHour) / unitsOf(run),
    run.priceUsd / unitsOf(run),
  ]);
}

const MEBIBYTE = 2 ** 20;

/** The most this process ever held, and what the GPU holds now, for the conditions of a result. */
export async function peakMemory(
  when: string,
  providers: readonly string[] = [],
): Promise<Record<string, number>> {
  const device = await readDeviceMemory(providers);
  return {
    [`peak memory MiB, ${when}`]: Math.round(process.resourceUsage().maxRSS / 1_024),
    ...(device && { [`device memory MiB, ${when}`]: Math.round(device.usedBytes / MEBIBYTE) }),
  };
}

/** A run of a graph, and when its numbers were back in the pipeline, in Unix milliseconds. */
export interface ReceivedRun extends GraphRun {
  readonly receivedAtMs: number;
}

/** Where the time of one clip went. */
export interface ClipStages {
  /** Opening the model's graphs. */
  readonly loadSeconds: number;
  readonly runs: readonly ReceivedRun[];
  /** From the last frame's end to the finished file. */
  readonly tailSeconds: number;
  readonly totalSeconds: number;
}

const PREPARING = new Set(["text-encoder"]);
const DENOISING = "denoiser";
const isDecoder = (role: string) => role.endsWith("-decoder");

/** How each stage is spread over the clips; stages overlap, so they do not add up to the whole. */
export function stageDistributions(clips: readonly ClipStages[]): Distribution[] {
  const stage = (what: string, ms: (clip: ClipStages) => number) =>
    distribute({ what, unit: "ms" }, clips.map(ms));
  const covered = (what: string, isPart: (role: string) => boolean) =>
    stage(what, ({ runs }) => coveredMs(runs.filter(({ role }) => isPart(role))));
  return [
    stage("load", ({ loadSeconds }) => loadSeconds * 1_000),
    covered("text encoder", (role) => PREPARING.has(role)),
    covered("denoise", (role) => role === DENOISING),
    covered("decode", isDecoder),
    stage("device to host: a run's end to its numbers' arrival, all runs of a clip", ({ runs }) =>
      runs.reduce((sum, run) => sum + (run.receivedAtMs - run.endedAtMs), 0),
    ),
    stage("mux tail", ({ tailSeconds }) => tailSeconds * 1_000),
    stage("clip, without a queue", ({ totalSeconds }) => totalSeconds * 1_000),
  ];
}
