import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../../src/config.js";
import { randomStream } from "../../../src/models/sampling/noise.js";
import { bytesField, numberField } from "../../../src/runtime/onnx/protobuf-write.js";
import { Session, type Targets } from "../../../src/runtime/ort/session.js";
import { openValues, Value } from "../../../src/runtime/ort/value.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import { readProcessMemory } from "../../../src/runtime/process/process.js";
import type { SuiteOptions } from "../bench.js";
import {
  type BenchResult,
  type BenchRow,
  compare,
  machine,
  type Pair,
  slopeOf,
  type TableRow,
  timed,
} from "../report/measure.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { withBenchFolder } from "../service/stack.js";
import { withTemporaryFolder } from "../temporary-folder.js";
import { createClipSender } from "./load.js";

const MOST_GAP_MS = 20;
const MOST_CANCEL_MS = 200;
const MEBIBYTE = 2 ** 20;

/** What runs of graphs do to the process that they run in. */
export async function runRuntime(
  config: Config,
  rounds: number,
  { quick = false, against }: SuiteOptions,
): Promise<BenchResult> {
  const blocking = await withTemporaryFolder((folder) =>
    blockingRows(folder, config.threads, rounds),
  );
  const soak = await soakRuns(config, quick ? 20_000 : 100_000);
  const memory = against === undefined ? [] : await memoryRows(config, against, rounds);
  const what = "memory beside another version";
  const unmeasured = against === undefined ? [{ what, why: "give --against <folder>" }] : [];
  return {
    suite: "runtime",
    conditions: { ...machine(), threads: config.threads, rounds },
    rows: [...blocking, soak.row, ...memory],
    counts: [soak.counts],
    unmeasured,
  };
}

const SIDE = 1_024;
const RUN_MS = 5_000;
const PROBE_NODES = 20;

/** The event loop while a graph runs for five seconds, and how soon such a run ends that is aborted. */
async function blockingRows(folder: string, threads: number, rounds: number): Promise<BenchRow[]> {
  const open = async (nodes: number) => {
    const path = join(folder, `${nodes}.onnx`);
    await writeFile(path, productGraph(nodes));
    return await Session.open(path, { providers: ["cpu"], threads });
  };
  const probe = await open(PROBE_NODES);
  await runProducts(probe);
  const { seconds } = await timed(() => runProducts(probe));
  await probe.close();
  const operatorMs = (seconds * 1_000) / PROBE_NODES;
  const session = await open(Math.ceil(RUN_MS / operatorMs));
  const gaps: Pair[] = [];
  const idle: Pair[] = [];
  const cancels: Pair[] = [];
  for (let round = 0; round < rounds; round += 1) {
    gaps.push({ ours: await worstGapMs(() => runProducts(session)), against: MOST_GAP_MS });
    idle.push({ ours: await worstGapMs(() => sleep(RUN_MS)), against: MOST_GAP_MS });
    const ours = await cancelMs(session, RUN_MS * (0.2 + (0.6 * round) / rounds));
    cancels.push({ ours, against: MOST_CANCEL_MS + operatorMs });
  }
  await session.close();
  const gap = { unit: "ms", what: "worst gap of the event loop" };
  return [
    compare({ ...gap, what: `${gap.what} in a run of 5 s / 20 ms`, target: 1 }, gaps),
    compare({ ...gap, what: `${gap.what} in 5 s of nothing / 20 ms`, target: null }, idle),
    compare(
      { what: "abort amid a run → ended / 200 ms and one operator", unit: "ms", target: 1 },
      cancels,
    ),
  ];
}

async function runProducts(session: Session, signal?: AbortSignal): Promise<void> {
  const x = new Float32Array(SIDE * SIDE).fill(1 / SIDE);
  const feeds = { x: { type: "float32" as const, data: x, dims: [SIDE, SIDE] } };
  const { y } = await session.run(feeds, { fetch: ["y"] }, { signal });
  y?.close();
}

async function worstGapMs(run: () => Promise<unknown>): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  await run();
  monitor.disable();
  return monitor.max / 1e6;
}

async function cancelMs(session: Session, afterMs: number): Promise<number> {
  const abort = new AbortController();
  const run = runProducts(session, abort.signal).then(
    () => "ended",
    () => "aborted",
  );
  await sleep(afterMs);
  const startedAt = performance.now();
  abort.abort();
  if ((await run) !== "aborted") throw new Error("the run ended before it was aborted");
  return performance.now() - startedAt;
}

const FLOAT = 1;

/** x [1024, 1024] multiplied with itself again and again (onnx.proto3). */
function productGraph(nodes: number): Buffer {
  const products = Array.from({ length: nodes }, (_, at) => {
    const inputs = [at === 0 ? "x" : `h${at}`, "x"].map((name) => bytesField(1, name));
    const output = bytesField(2, at === nodes - 1 ? "y" : `h${at + 1}`);
    return bytesField(1, ...inputs, output, bytesField(4, "MatMul"));
  });
  const dims = [SIDE, SIDE].map((dim) => bytesField(1, numberField(1, dim)));
  const type = bytesField(2, bytesField(1, numberField(1, FLOAT), bytesField(2, ...dims)));
  const ends = [bytesField(11, bytesField(1, "x"), type), bytesField(12, bytesField(1, "y"), type)];
  const graph = bytesField(7, ...products, bytesField(2, "products"), ...ends);
  return Buffer.concat([
    numberField(1, 8),
    bytesField(8, bytesField(1, ""), numberField(2, 17)),
    graph,
  ]);
}

const SOAK_MODEL = "service-embed-1";
const OUTPUT = "sentence_embedding";
const SESSIONS = 3;
const CLIENTS = 4;
const SAMPLES = 50;
const RUNS_A_ROW = 10_000;

interface Soak {
  readonly row: BenchRow;
  readonly counts: TableRow;
}

/**
 * Runs of random shapes and targets on sessions that open and close under them; every tenth is aborted, at
 * once or amid its work. Resident memory should not grow, and nothing should stay open.
 */
async function soakRuns({ modelsDir }: Config, runs: number): Promise<Soak> {
  const model = await loadModelPackage(join(modelsDir, SOAK_MODEL));
  const path = join(model.path, model.files["encoder"]?.path ?? "");
  const random = randomStream(1, 0);
  let drawn = 0;
  const below: Below = (limit) => Math.floor(random.at(drawn++) * limit);
  let opened = 0;
  const open = () => {
    opened += 1;
    return Session.open(path, { providers: ["cpu"], threads: 1 + below(2) });
  };
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, open));
  const before = openValues();
  const samples: [number, number][] = [];
  const ended = { done: 0, aborted: 0, closed: 0 };
  let begun = 0;
  const client = async () => {
    while (begun++ < runs) {
      const at = below(SESSIONS);
      const session = sessions[at];
      if (session !== undefined) ended[await runOnce(session, below)] += 1;
      if (below(500) === 0) {
        sessions[at] = await open();
        void session?.close();
      }
      if (begun % Math.ceil(runs / SAMPLES) === 0)
        samples.push([begun, process.memoryUsage.rss() / MEBIBYTE]);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  for (const session of sessions) await session.close();
  const settled = samples.slice(samples.length / 2);
  const growth = slopeOf(settled) * RUNS_A_ROW;
  const what = `memory of ${RUNS_A_ROW} runs, of the second half of ${runs} / 1 MiB`;
  return {
    row: compare({ what, unit: "MiB", target: 1 }, [{ ours: growth, against: 1 }]),
    counts: {
      runs,
      ...ended,
      opened,
      "values left open": openValues() - before,
      "MiB at first": Math.round(samples[0]?.[1] ?? 0),
      "MiB at last": Math.round(samples.at(-1)?.[1] ?? 0),
    },
  };
}

async function runOnce(session: Session, below: Below): Promise<"done" | "aborted" | "closed"> {
  const dims = [1 + below(4), 1 + below(48)] as const;
  const mask = below(2) === 0 ? Value.of(ids(dims, 1n)) : ids(dims, 1n);
  const given = below(3) === 0 ? Value.zeros("float32", [dims[0], DIMENSIONS]) : undefined;
  const signal = below(10) === 0 ? abortIn(below(3)) : undefined;
  try {
    const feeds = { input_ids: ids(dims, 5n), attention_mask: mask };
    const values = await session.run(feeds, targetsOf(given, below), { signal });
    for (const value of Object.values(values)) value.close();
    return "done";
  } catch (thrown) {
    if (signal?.aborted === true) return "aborted";
    if (thrown instanceof Error && thrown.message.includes("closed")) return "closed";
    throw thrown;
  } finally {
    given?.close();
    if (mask instanceof Value) mask.close();
  }
}

/** A whole number from 0 to one less than this. */
type Below = (limit: number) => number;

function ids(dims: readonly [number, number], value: bigint) {
  const data = new BigInt64Array(dims[0] * dims[1]).fill(value);
  return { type: "int64" as const, data, dims };
}

function targetsOf(given: Value | undefined, below: Below): Targets {
  if (given !== undefined) return { into: { [OUTPUT]: given } };
  return below(2) === 0 ? { keep: [OUTPUT] } : { fetch: [OUTPUT] };
}

function abortIn(ms: number): AbortSignal {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), ms);
  return abort.signal;
}

const DIMENSIONS = 256;
const MOST_MEMORY = 0.7;

/** Inference processes of both versions: with all models as they start, and at most in a long clip. */
async function memoryRows(config: Config, against: string, rounds: number): Promise<BenchRow[]> {
  const started: Pair[] = [];
  const clips: Pair[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const ours = await memoryOf(config);
    const other = await memoryOf(config, against);
    started.push({ ours: ours.started, against: other.started });
    clips.push({ ours: ours.clip, against: other.clip });
  }
  const row = (what: string, pairs: readonly Pair[]) =>
    compare({ what, unit: "MiB", target: MOST_MEMORY }, pairs);
  return [
    row("memory of inference with all models / the other version's", started),
    row("memory of inference at most in a clip of 10 s, 1080p / the other version's", clips),
  ];
}

async function memoryOf(config: Config, checkout?: string) {
  return await withBenchFolder(config, async (own) => {
    const { amqpUrl: _broker, databaseUrl: _database, ...embedded } = own;
    const service = await startServiceProcesses(embedded, checkout);
    try {
      const processId = service.processIds()["inference"] ?? 0;
      const { residentBytes } = await readProcessMemory(processId);
      const { signal } = new AbortController();
      const clip = { seconds: 10, quality: "high" } as const;
      await createClipSender(service.endpoint, clip).send(1, signal);
      const { peakBytes } = await readProcessMemory(processId);
      return { started: residentBytes / MEBIBYTE, clip: peakBytes / MEBIBYTE };
    } finally {
      await service.close();
    }
  });
}
