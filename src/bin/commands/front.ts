import type { Config } from "../../config.js";
import { createLog } from "../log.js";
import { withParts } from "../parts.js";
import { runFront } from "../stack.js";
import { untilTold } from "../until-told.js";

/** The HTTP API and the workers' gRPC endpoint until told to stop. */
export async function front(config: Config): Promise<void> {
  const stopped = untilTold();
  const log = createLog(config, "framemill-front");
  await withParts(config, log, async (parts) => {
    const running = await runFront(config, parts, log);
    log.info({ baseUrl: running.baseUrl, grpcPort: running.grpcPort }, "front ready");
    await stopped;
    await running.close();
  });
}
