import type { Config } from "../../config.js";
import { writeDevFile } from "../dev-file.js";
import { startStack } from "../stack.js";
import { untilTold } from "../until-told.js";
import { startWatchdog } from "../watchdog.js";

/**
 * Front and worker until told to stop; base address and key are printed and left in dev.json,
 * which keeps the key for the next time.
 */
export async function up(config: Config): Promise<void> {
  await untilTold(async (closers, signal) => {
    const stack = await startStack(config, { signal });
    closers.add(() => stack.close());
    closers.add(startWatchdog(config.watchdogMs, "framemill"));
    const { baseUrl, apiKey } = stack.endpoint;
    await writeDevFile(config.dataDir, { baseUrl, apiKey });
    const { port, grpcPort } = stack.front;
    const moved = [
      ...movedPort("PORT", config.port, port),
      ...movedPort("GRPC_PORT", config.grpcPort, grpcPort),
      ...movedPort("WORKER_PORT", config.workerPort, stack.worker.healthPort),
    ];
    const lines = [`base address     ${baseUrl}`, `development key  ${apiKey}`, ...moved];
    process.stdout.write(`${lines.join("\n")}\n`);
  });
}

function movedPort(setting: string, wanted: number, port: number): string[] {
  const isMoved = wanted !== 0 && wanted !== port;
  return isMoved ? [`${setting.padEnd(17)}${port}, since ${wanted} is taken`] : [];
}
