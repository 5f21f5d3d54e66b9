import { serveInference } from "../inference/serve.js";
import { findModality } from "../modalities/registry.js";
import { openTracing } from "../tracing/open-tracing.js";

await serveInference(findModality, (settings) =>
  openTracing(settings, {
    service: "framemill-inference",
    instance: String(process.pid),
    // The worker beside it, which sends to the same place, tells of it.
    onFailure: () => {},
  }),
);
process.exit(0);
