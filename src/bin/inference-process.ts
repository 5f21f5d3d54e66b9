import { serveInference } from "../inference/serve.js";
import { findModality } from "../modalities/index.js";

await serveInference(findModality);
process.exit(0);
