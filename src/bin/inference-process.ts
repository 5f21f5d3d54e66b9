import { serveInference } from "../inference/serve.js";
import { findModality } from "../modalities/registry.js";

await serveInference(findModality);
process.exit(0);
