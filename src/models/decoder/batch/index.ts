export { TextBatch } from "./batch.js";
export { findBatchAbilities, sharesBuffers } from "./batch-abilities.js";
export type { PromptQueueSetup } from "./prompt-queue.js";
