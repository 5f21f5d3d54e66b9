import { basename, join } from "node:path";
import type { BenchResult, BenchRow } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { createOperations } from "../../front/operations.js";
import { listModelPackages, loadModelPackage } from "../../inference/model-package.js";
import { runnerParts } from "../package-runner.js";
import { runLoad } from "./bench-load.js";
import { listPeerPackages, withPeerModels } from "./bench-peers.js";
import type { SuiteOptions } from "./bench-options.js";
import { partsOf, withBenchStack } from "./bench-stack.js";
import { runVideo } from "./bench-video.js";

export type Suite = (config: Config, rounds: number, options: SuiteOptions) => Promise<BenchResult>;

/** Suites that `all` leaves out: they need what this repository does not bring. */
export const ON_REQUEST: readonly string[] = ["mlperf-video"];

/** Name → how it is measured, with everything that it needs of this build. */
export const SUITES: Readonly<Record<string, Suite>> = {
  async media(config, rounds) {
    const { benchMedia } = await import("../../bench/media.js");
    return benchMedia(pipelineSetup(config), rounds);
  },
  video: (config, rounds, options) => runVideo(pipelineSetup(config), { config, rounds, options }),
  text: (config, rounds, { peerModels }) =>
    withPeerModels(config, peerModels, (own) => runText(own, rounds)),
  queue: runQueue,
  load: runLoad,
  async "mlperf-video"(config, rounds, options) {
    const { runMlperfVideo } = await import("./bench-mlperf-video.js");
    return runMlperfVideo(config, rounds, options);
  },
  async cold(config, rounds) {
    const { benchCold } = await import("../../bench/cold.js");
    const { openInference } = runnerParts(config);
    const packages = await listModelPackages(config.modelsDir);
    const folder = await mkdtemp(join(tmpdir(), "framemill-cold-"));
    try {
      return await benchCold({ packages, threads: config.threads, openInference, folder }, rounds);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function pipelineSetup(config: Config) {
  const { modelsDir, threads, providers, ffmpegPath, ffprobePath, espeakPath } = config;
  const modelPath = join(modelsDir, "service-motion-1");
  return { modelPath, threads, providers, ffmpegPath, ffprobePath, espeakPath };
}

/** Needs a chat, an embeddings and a rerank model that transformers.js opens as well. */
async function runText(config: Config, rounds: number): Promise<BenchResult> {
  const [{ textRows }, { encoderRows }, { rerankRows }, { machine }] = await Promise.all([
    import("../../bench/text.js"),
    import("../../bench/encoder.js"),
    import("../../bench/reranker.js"),
    import("../../bench/measure.js"),
  ]);
  const packages = await listPeerPackages(config.modelsDir);
  const setupOf = (modality: string, pipeline: string) => {
    const model = packages.find((it) => it.modality === modality && it.pipeline === pipeline);
    return model && { ...pipelineSetup(config), modelPath: model.path };
  };
  const chat = setupOf("chat", "decoder-text");
  const embeddings = setupOf("embeddings", "encoder");
  const rerank = setupOf("rerank", "encoder");
  if (!chat || !embeddings || !rerank) {
    const what = "text beside transformers.js";
    const why =
      "needs a chat, an embeddings and a rerank model with onnx/model.onnx: --peer-models, or MODELS_DIR";
    return { suite: "text", conditions: machine(), rows: [], unmeasured: [{ what, why }] };
  }
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
  return await withBenchStack(config, async (stack) => {
    const { endpoint, front, worker } = stack;
    const operations = createOperations(front.database, front.keys);
    return await benchQueue(
      {
        ...endpoint,
        parts: partsOf(config, stack),
        isIdle: () => worker.state === "ready",
        findTimes: async (id) => (await operations.listJobs(10)).find((job) => job.id === id),
      },
      rounds,
    );
  });
}
