import type { Config } from "../../config.js";
import { startStack } from "../stack.js";
import { untilTold } from "../until-told.js";
import { writeDevFile } from "../dev-file.js";

/**
 * Front and worker until told to stop; base address and key are printed and left in dev.json,
 * which keeps the key for the next time.
 */
export async function up(config: Config): Promise<void> {
  const stopped = untilTold();
  const stack = await startStack(config);
  const { baseUrl, apiKey } = stack.endpoint;
  await writeDevFile(config.dataDir, { baseUrl, apiKey });
  process.stdout.write(`base address     ${baseUrl}\ndevelopment key  ${apiKey}\n`);
  await stopped;
  await stack.close();
}
