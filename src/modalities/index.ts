/** Every modality. A new one is a new folder and one line here. */
export { chat } from "./chat/index.js";
export { completions } from "./completions/index.js";
export { embeddings } from "./embeddings/index.js";
export { image, imageEdit } from "./image/index.js";
export { moderation } from "./moderation/index.js";
export { music } from "./music/index.js";
export { rerank } from "./rerank/index.js";
export { responses } from "./responses/index.js";
export { speech } from "./speech/index.js";
export { transcription } from "./transcription/index.js";
export { video } from "./video/index.js";
