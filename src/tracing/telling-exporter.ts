import { ExportResultCode } from "@opentelemetry/core";
import type { SpanExporter } from "@opentelemetry/sdk-trace";

const TELL_EVERY_MS = 60_000;

/** The same exporter, whose failures are told once a minute and end there. */
export function telling(exporter: SpanExporter, onFailure: (reason: string) => void): SpanExporter {
  let toldAtMs = -TELL_EVERY_MS;
  return {
    export(spans, onResult) {
      exporter.export(spans, ({ code, error }) => {
        const nowMs = performance.now();
        if (code !== ExportResultCode.SUCCESS && nowMs - toldAtMs >= TELL_EVERY_MS) {
          toldAtMs = nowMs;
          onFailure(error?.message ?? "unknown reason");
        }
        // What could not be sent is given up here: the SDK would tell the process's error handler.
        onResult({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: async () => await exporter.forceFlush?.(),
    shutdown: async () => await exporter.shutdown(),
  };
}
