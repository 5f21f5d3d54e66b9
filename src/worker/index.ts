export { createDirectives, type Directives } from "./attempt.js";
export { startWorker, type Worker, type WorkerOptions } from "./worker.js";
