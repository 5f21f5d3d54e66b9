import type { Config } from "../../config.js";
import { createLog } from "../log.js";
import { openParts } from "../parts.js";
import { runFront } from "../stack.js";
import { untilTold } from "../until-told.js";
import { logWarnings } from "../warnings.js";
import { startWatchdog } from "../watchdog.js";
import { withWorkerToken } from "../worker-token.js";

/** The HTTP API and the workers' gRPC endpoint until told to stop. */
export async function front(config: Config): Promise<void> {
  const log = createLog(config, "framemill-front");
  logWarnings(log);
  await untilTold(async (closers, told) => {
    const shared = await withWorkerToken(config);
    const parts = await openParts(shared, log);
    closers.add(() => parts.close());
    told.throwIfAborted();
    const { baseUrl, grpcPort, scalerPort, close } = await runFront(shared, parts, log);
    closers.add(close);
    told.throwIfAborted();
    closers.add(startWatchdog(config.watchdogMs, "framemill-front"));
    log.info({ baseUrl, grpcPort, scalerPort }, "front ready");
  });
}
