export { createThinkingReader, thinkingMarkers } from "./thinking.js";
export type { ThinkingReader, ThoughtPiece } from "./thinking-reader.js";
