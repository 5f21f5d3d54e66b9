export { createTextMarker } from "./callers-texts.js";
export { detectFormat, syntaxOf, type ToolCallSyntax } from "./tool-call-formats.js";
export { createToolCallReader, type ToolCallReaderOptions } from "./tool-calls.js";
