import type { Config } from "../../config.js";
import { createLog } from "../log.js";
import { openParts, runWorker } from "../parts.js";
import { untilTold } from "../until-told.js";
import { logWarnings } from "../warnings.js";
import { withWorkerToken } from "../worker-token.js";

/** Takes jobs from the queue until told to stop. Needs a real broker: there is nobody else in-process. */
export async function worker(config: Config): Promise<void> {
  if (config.amqpUrl === undefined) {
    throw new Error(
      "a worker needs AMQP_URL; `framemill up` runs front and worker together without one",
    );
  }
  const log = createLog(config, "framemill-worker");
  logWarnings(log);
  await untilTold(async (closers, signal) => {
    const shared = await withWorkerToken(config);
    const parts = await openParts(shared, log);
    closers.add(() => parts.close());
    const running = await runWorker(shared, parts, log, { ...shared, signal });
    closers.add(() => running.stop());
  });
}
