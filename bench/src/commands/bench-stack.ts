import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../src/config.js";
import type { Parts } from "../../../src/bin/parts.js";
import { startStack, type Stack } from "../../../src/bin/stack.js";

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
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  const ports = { port: 0, grpcPort: 0, workerPort: 0 };
  const limits = { requestsPerMinute: UNLIMITED, tokensPerMinute: UNLIMITED };
  try {
    return await use({ ...config, ...ports, ...limits, dataDir });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

export function brokerOf({ amqpUrl }: Pick<Config, "amqpUrl">): string {
  return amqpUrl === undefined ? "in-process broker" : "RabbitMQ";
}

/** Names of broker and database, for the conditions. */
export function partsOf(config: Config, { front }: Stack): string {
  return `${brokerOf(config)}, ${front.database.engine}`;
}
