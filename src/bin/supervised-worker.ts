import { once } from "node:events";
import type { Config } from "../config.js";
import { messageOf } from "../core/errors.js";
import { holdWarnings } from "./log.js";
import type { WorkerNotice } from "./supervisor.js";

/** A worker that has read its code when it is told to start, in the process that `supervisor.ts` opens. */

holdWarnings();
// Its supervisor has gone, and whoever started that starts another: this one must not be in the way.
process.once("disconnect", () => process.exit(1));
const tell = (notice: WorkerNotice) => process.send?.(notice);
const [{ serveWorker }, [config]] = await Promise.all([
  import("./parts.js"),
  // The supervisor's message is its configuration.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  once(process, "message") as Promise<[Config]>,
]);
const startedAtMs = performance.now();
try {
  await serveWorker(config, { startedAtMs, onReady: () => tell("ready") });
} catch (thrown) {
  process.stderr.write(`framemill: ${messageOf(thrown)}\n`);
  process.exitCode = 1;
}
process.removeAllListeners("disconnect");
if (process.send) process.send("ended" satisfies WorkerNotice, () => process.disconnect());
