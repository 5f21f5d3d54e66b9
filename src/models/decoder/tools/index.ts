export { createTextMarker } from "./callers-texts.js";
export {
  callMarkers,
  createToolCallReader,
  detectFormat,
  syntaxOf,
  type ToolCallReaderOptions,
  type ToolCallSyntax,
} from "./tool-calls.js";
