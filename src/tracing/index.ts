export { openTracing } from "./open-tracing.js";
export {
  chooseTrace,
  drawTraceText,
  parseTraces,
  placeSpans,
  startOf,
  type TraceSpan,
} from "./read-trace.js";
