export { createDirectives, type Directives } from "./directives.js";
export { startWorker, type Worker } from "./worker.js";
