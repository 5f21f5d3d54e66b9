import type { Config } from "../config.js";
import type { TraceSettings, Tracing } from "../core/tracing.js";
import { openTracing } from "../tracing/index.js";
import type { Log } from "./log.js";

/** Where the configuration sends spans. */
export function traceSettings(config: Config): TraceSettings {
  return {
    endpoint: config.otelExporterOtlpEndpoint,
    headers: config.otelExporterOtlpHeaders,
    file: config.tracesFile,
    ratio: config.otelTracesSamplerArg,
  };
}

/** Traces of one part of the service; nothing where the configuration names no place for them. */
export async function traceService(config: Config, service: string, log: Log): Promise<Tracing> {
  return await openTracing(traceSettings(config), {
    service,
    instance: config.workerId,
    onFailure: (reason) => log.warn({ reason }, "traces not exported"),
  });
}
