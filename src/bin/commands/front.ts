import type { Config } from "../../config.js";
import { createLog } from "../log.js";
import { withParts } from "../parts.js";
import { runFront } from "../stack.js";
import { untilTold } from "../until-told.js";
import { withWorkerToken } from "../worker-token.js";

/** The HTTP API and the workers' gRPC endpoint until told to stop. */
export async function front(config: Config): Promise<void> {
  const stopped = untilTold();
  const log = createLog(config, "framemill-front");
  const shared = await withWorkerToken(config);
  await withParts(shared, log, async (parts) => {
    const running = await runFront(shared, parts, log);
    log.info({ baseUrl: running.baseUrl, grpcPort: running.grpcPort }, "front ready");
    await stopped;
    await running.close();
  });
}
