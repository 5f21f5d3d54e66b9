import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { changeOf, type EarlierRow, readEarlier } from "../../bench/compare-runs.js";
import type { BenchResult, BenchRow } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { createOperations } from "../../front/operations.js";
import { listModelPackages, loadModelPackage } from "../../inference/model-package.js";
import { runnerParts } from "../package-runner.js";
import { startStack, type Stack } from "../stack.js";
import { printTable } from "./table.js";

export interface BenchOptions {
  /** Folder for one JSON file a suite. */
  readonly out: string;
  readonly rounds: number;
  /** JSON of an earlier run, or a folder of such. */
  readonly compare?: string;
}

type Suite = (config: Config, rounds: number) => Promise<BenchResult>;

const SUITES: Readonly<Record<string, Suite>> = {
  async media(config, rounds) {
    const { benchMedia } = await import("../../bench/media.js");
    return benchMedia(pipelineSetup(config), rounds);
  },
  async video(config, rounds) {
    const { benchVideo } = await import("../../bench/video.js");
    return benchVideo(pipelineSetup(config), rounds);
  },
  text: runText,
  queue: runQueue,
  async cold(config, rounds) {
    const { benchCold } = await import("../../bench/cold.js");
    const { openInference } = runnerParts(config);
    const packages = await listModelPackages(config.modelsDir);
    return benchCold({ packages, threads: config.threads, openInference }, rounds);
  },
};

/** Suites that need no models but the repository's. */
const OWN_MODELS: readonly string[] = ["media", "video", "queue", "cold"];

/** Runs suites one after the other; prints conditions and ratios, writes JSON. */
export async function bench(
  names: readonly string[],
  { out, rounds, compare }: BenchOptions,
  config: Config,
): Promise<void> {
  const chosen = names.length === 0 ? OWN_MODELS : names;
  const unknown = chosen.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    throw new Error(`there is no suite ${unknown}: give some of ${Object.keys(SUITES).join(", ")}`);
  }
  await mkdir(out, { recursive: true });
  for (const name of chosen) {
    const result = await SUITES[name]?.(config, rounds);
    if (result === undefined) continue;
    print(result, compare === undefined ? [] : await readEarlier(compare, name));
    await writeFile(join(out, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  }
}

function print({ suite, conditions, rows }: BenchResult, before: readonly EarlierRow[]): void {
  const facts = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`\n${suite} (${facts.join(" · ")})\n`);
  printTable(
    rows.map((row) => ({
      what: row.what,
      ours: row.ours,
      against: row.against,
      unit: row.unit,
      ratio: row.ratio.toFixed(3),
      target: row.target ?? "",
      noise: row.noise === null ? "" : `${(row.noise * 100).toFixed(0)} %`,
      ...(before.length > 0 && { "now / then": changeOf(row, before) }),
    })),
  );
}

function pipelineSetup({ modelsDir, threads, ffmpegPath, ffprobePath, espeakPath }: Config) {
  const modelPath = join(modelsDir, "service-motion-1");
  return { modelPath, threads, ffmpegPath, ffprobePath, espeakPath };
}

/** Needs a chat, an embeddings and a rerank model in MODELS_DIR that transformers.js opens as well. */
async function runText(config: Config, rounds: number): Promise<BenchResult> {
  const [{ textRows }, { encoderRows }, { rerankRows }, { machine }] = await Promise.all([
    import("../../bench/text.js"),
    import("../../bench/encoder.js"),
    import("../../bench/reranker.js"),
    import("../../bench/measure.js"),
  ]);
  const packages = await listModelPackages(config.modelsDir);
  const setupOf = (modality: string, pipeline: string) => {
    const model = packages.find((it) => it.modality === modality && it.pipeline === pipeline);
    if (model !== undefined) return { ...pipelineSetup(config), modelPath: model.path };
    throw new Error(`MODELS_DIR ${config.modelsDir} has no ${modality} model (${pipeline})`);
  };
  const chat = setupOf("chat", "decoder-text");
  const embeddings = setupOf("embeddings", "encoder");
  const rerank = setupOf("rerank", "encoder");
  return {
    suite: "text",
    conditions: {
      ...machine(),
      peer: "transformers.js, same folders",
      chat: basename(chat.modelPath),
      embeddings: basename(embeddings.modelPath),
      rerank: basename(rerank.modelPath),
      threads: config.threads,
      rounds,
    },
    rows: [
      ...(await textRows(chat, rounds)),
      ...(await encoderRows(embeddings, rounds)),
      ...(await rerankRows(rerank, rounds)),
      await runFirstToken(config, basename(chat.modelPath), rounds),
    ],
  };
}

async function runFirstToken(config: Config, model: string, rounds: number): Promise<BenchRow> {
  const [{ firstTokenRow }, { openTextEngine }] = await Promise.all([
    import("../../bench/first-token.js"),
    import("../../inference/text/engine.js"),
  ]);
  const modelPath = join(config.modelsDir, model);
  const engine = await openTextEngine(await loadModelPackage(modelPath), config);
  try {
    return await withBenchStack({ ...config, models: [model] }, async ({ endpoint }) =>
      firstTokenRow({ ...endpoint, model }, engine, rounds),
    );
  } finally {
    await engine.close();
  }
}

async function runQueue(config: Config, rounds: number): Promise<BenchResult> {
  const { benchQueue } = await import("../../bench/queue.js");
  return await withBenchStack(config, async ({ endpoint, front, worker }) => {
    const operations = createOperations(front.database, front.keys);
    const broker = config.amqpUrl === undefined ? "in-process broker" : "RabbitMQ";
    return await benchQueue(
      {
        ...endpoint,
        parts: `${broker}, ${front.database.engine}`,
        isIdle: () => worker.state === "ready",
        findTimes: async (id) => (await operations.listJobs(10)).find((job) => job.id === id),
      },
      rounds,
    );
  });
}

/** A service of the configuration with ports and a folder of its own. */
async function withBenchStack<T>(config: Config, use: (stack: Stack) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  const own = { dataDir, port: 0, grpcPort: 0, workerPort: 0 };
  const stack = await startStack({ ...config, ...own, logLevel: "error" });
  try {
    return await use(stack);
  } finally {
    await stack.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}
