import { holdWarnings, logWarnings } from "./log.js";

holdWarnings();
const [{ serveInference }, { findModality }, { openTracing }, { createLog }] = await Promise.all([
  import("../runtime/process/serve.js"),
  import("../modalities/registry.js"),
  import("../tracing/index.js"),
  import("./log.js"),
]);
logWarnings(createLog({ logLevel: "warn" }, "framemill-inference"));
await serveInference(findModality, (settings) =>
  openTracing(settings, {
    service: "framemill-inference",
    instance: String(process.pid),
    // The worker, which sends to the same place, logs it.
    onFailure: () => {},
  }),
);
process.exit(0);
