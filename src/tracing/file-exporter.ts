import { appendFile } from "node:fs/promises";
import { ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { SpanExporter } from "@opentelemetry/sdk-trace";

/**
 * Appends lines of OTLP JSON, which collectors read as well:
 * https://opentelemetry.io/docs/specs/otel/protocol/file-exporter. Processes may share the file.
 */
export function createFileExporter(path: string): SpanExporter {
  let written = Promise.resolve();
  return {
    export(spans, onResult) {
      const line = Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []).toString();
      written = written
        .then(async () => await appendFile(path, `${line}\n`))
        .then(
          () => onResult({ code: ExportResultCode.SUCCESS }),
          (error: Error) => onResult({ code: ExportResultCode.FAILED, error }),
        );
    },
    forceFlush: async () => await written,
    shutdown: async () => await written,
  };
}
