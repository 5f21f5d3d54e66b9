export { createTextMarker } from "./callers-texts.js";
export { typesOf } from "./read-calls.js";
export {
  callMarkers,
  detectFormat,
  GEMMA_QUOTE,
  marksCalls,
  type MemberForm,
  piecesOf,
  syntaxOf,
  type ToolCallSyntax,
} from "./syntax.js";
export { createToolCallReader, type ToolCallReaderOptions } from "./tool-calls.js";
export { writeCalls } from "./write-calls.js";
