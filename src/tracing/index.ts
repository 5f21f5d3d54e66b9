import { UNTRACED, type TraceSettings, type Tracing } from "../core/tracing.js";
import type { TracingOptions } from "./telemetry.js";

export {
  chooseTrace,
  drawTraceText,
  parseTraces,
  placeSpans,
  startOf,
  type TraceSpan,
} from "./read-trace.js";

/** OpenTelemetry where the settings say where spans go; else nothing, and nothing is loaded. */
export async function openTracing(
  settings: TraceSettings,
  options: TracingOptions,
): Promise<Tracing> {
  if (settings.endpoint === undefined && settings.file === undefined)
    return { tracer: UNTRACED, close: async () => {} };
  const { startTracing } = await import("./telemetry.js");
  return startTracing(settings, options);
}
