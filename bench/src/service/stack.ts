import { join } from "node:path";
import { withTemporaryFolder } from "../temporary-folder.js";
import type { Parts } from "../../../src/bin/parts.js";
import { type Stack, startStack } from "../../../src/bin/stack.js";
import type { Config } from "../../../src/config.js";
import type { PipelineSetup } from "../../../src/core/modality.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";

/** Limits that no bench reaches. */
const UNLIMITED = 1_000_000_000;

/** A service of the configuration with ports and a folder of its own. */
export async function withBenchStack<T>(
  config: Config,
  use: (stack: Stack) => Promise<T>,
  watch?: (parts: Parts) => void,
): Promise<T> {
  return await withBenchFolder(config, async (own) => {
    const stack = await startStack({ ...own, logLevel: "error" }, { watch });
    try {
      return await use(stack);
    } finally {
      await stack.close();
    }
  });
}

/** The configuration with a folder and ports of its own, which is removed afterwards. */
export async function withBenchFolder<T>(
  config: Config,
  use: (own: Config) => Promise<T>,
): Promise<T> {
  const ports = { port: 0, grpcPort: 0, workerPort: 0 };
  const limits = { requestsPerMinute: UNLIMITED, tokensPerMinute: UNLIMITED };
  return await withTemporaryFolder((dataDir) => use({ ...config, ...ports, ...limits, dataDir }));
}

export function brokerOf({ amqpUrl }: Pick<Config, "amqpUrl">): string {
  return amqpUrl === undefined ? "in-process broker" : "RabbitMQ";
}

/** Names of broker and database, for the conditions. */
export function partsOf(config: Config, { front }: Stack): string {
  return `${brokerOf(config)}, ${front.database.engine}`;
}

/** How suites open the video model by itself. */
export function pipelineSetup(config: Config): PipelineSetup {
  return setupFor(config, join(config.modelsDir, "service-motion-1"));
}

/** How suites open the first model of a modality; undefined where MODELS_DIR has none. */
export async function setupsOf(config: Config) {
  const packages = await listModelPackages(config.modelsDir);
  return (modality: string): PipelineSetup | undefined => {
    const model = packages.find((it) => it.modality === modality);
    return model && setupFor(config, model.path);
  };
}

/** How suites open a package. */
export function setupFor(config: Config, modelPath: string): PipelineSetup {
  const { threads, providers, ffmpegPath, ffprobePath, espeakPath } = config;
  return { modelPath, threads, providers, ffmpegPath, ffprobePath, espeakPath };
}
