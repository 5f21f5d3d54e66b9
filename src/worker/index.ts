export { createDirectives, type Directives } from "./attempt.js";
export { startWorker, type Worker } from "./worker.js";
