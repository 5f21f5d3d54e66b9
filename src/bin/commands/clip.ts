import { rm } from "node:fs/promises";
import type { Config } from "../../config.js";
import { type Endpoint, findRunningFront } from "../dev-file.js";
import { UsageError } from "../usage-error.js";
import { generate, type GenerateOptions } from "./generate.js";
import { openProgress } from "./progress.js";
import { showTrace } from "./trace.js";

export interface ClipOptions extends GenerateOptions {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** File for the trace. */
  readonly trace?: string;
}

/** Makes a clip on the front that is named or running; without one it starts everything embedded. */
export async function makeClip(
  prompt: string,
  options: ClipOptions,
  config: Config,
): Promise<void> {
  const running = namedFront(options, config) ?? (await findRunningFront(config.dataDir));
  const { trace, json } = options;
  if (running !== undefined && trace !== undefined)
    throw new Error(`--trace needs a service of its own: ${running.baseUrl} has TRACES_FILE`);
  const progress = openProgress(running === undefined ? "start" : "queue");
  try {
    if (running !== undefined)
      return await generate(running, prompt, options, { config, progress });
    if (trace !== undefined) await rm(trace, { force: true });
    const stack = await startOwnStack(config, trace);
    try {
      await generate(stack.endpoint, prompt, options, { config, progress });
    } finally {
      await stack.close();
    }
  } finally {
    progress.close();
  }
  if (trace !== undefined && json !== true) await showTrace(trace, {});
}

/** Imported late: the bar stands before a second of reading code begins. */
async function startOwnStack(config: Config, trace?: string) {
  const { startStack } = await import("../stack.js");
  return startStack({
    ...config,
    ...(trace !== undefined && { tracesFile: trace }),
    port: 0,
    grpcPort: 0,
    workerPort: 0,
    logLevel: "error",
  });
}

function namedFront(options: ClipOptions, config: Config): Endpoint | undefined {
  const baseUrl = options.baseUrl ?? config.framemillBaseUrl;
  const apiKey = options.apiKey ?? config.framemillApiKey;
  if (baseUrl === undefined) return undefined;
  if (apiKey === undefined)
    throw new UsageError(`a key is needed for ${baseUrl}: --api-key or FRAMEMILL_API_KEY`);
  return { baseUrl, apiKey };
}
