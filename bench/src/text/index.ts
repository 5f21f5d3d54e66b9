import { basename, join } from "node:path";
import type { Config } from "../../../src/config.js";
import { openTextEngine } from "../../../src/models/decoder/open.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import type { SuiteOptions } from "../bench.js";
import { listPeerPackages, withPeerModels } from "./transformers-js.js";
import { type BenchResult, machine } from "../report/measure.js";
import { brokerOf, pipelineSetup, withBenchStack } from "../service/stack.js";
import { encoderRows } from "./encoder.js";
import { type FirstToken, measureFirstToken } from "./first-token.js";
import { rerankRows } from "./reranker.js";
import { secondTurnRow } from "./second-turn.js";
import { streamSpread } from "./streams.js";
import { textRows } from "./tokens.js";

/** Needs a chat, an embeddings and a rerank model that transformers.js opens as well. */
export async function runText(
  config: Config,
  rounds: number,
  { peerModels }: SuiteOptions,
): Promise<BenchResult> {
  return await withPeerModels(config, peerModels, async (own) => await measureText(own, rounds));
}

async function measureText(config: Config, rounds: number): Promise<BenchResult> {
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
  const rows = [
    ...(await textRows(chat, rounds)),
    await secondTurnRow(chat, rounds),
    ...(await encoderRows(embeddings, rounds)),
    ...(await rerankRows(rerank, rounds)),
  ];
  const { distributions, series } = await streamSpread(chat, rounds);
  const first = await runFirstToken(config, basename(chat.modelPath), rounds);
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
    rows: [...rows, ...first.map(({ row }) => row)],
    distributions: [...distributions, ...first.flatMap((one) => one.distributions)],
    series,
  };
}

/** Through the in-process broker, and through RabbitMQ where AMQP_URL names one. */
async function runFirstToken(
  config: Config,
  model: string,
  rounds: number,
): Promise<readonly FirstToken[]> {
  const modelPath = join(config.modelsDir, model);
  const engine = await openTextEngine(await loadModelPackage(modelPath), config);
  try {
    const measured: FirstToken[] = [];
    for (const amqpUrl of new Set([undefined, config.amqpUrl])) {
      const parts = brokerOf({ amqpUrl });
      await withBenchStack({ ...config, amqpUrl, models: [model] }, async ({ endpoint }) => {
        const service = { ...endpoint, model };
        measured.push(await measureFirstToken({ service, parts }, engine, rounds));
      });
    }
    return measured;
  } finally {
    await engine.close();
  }
}
