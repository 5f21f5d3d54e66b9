import { setTimeout as sleep } from "node:timers/promises";
import { appendFile } from "node:fs/promises";
import {
  type Context,
  ROOT_CONTEXT,
  SpanKind as Kinds,
  SpanStatusCode,
  trace,
  type Tracer as TelemetryTracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { unixMs } from "../core/time.js";
import {
  type Span,
  type SpanOptions,
  splitTraceparent,
  type TraceSettings,
  type Tracing,
} from "../core/tracing.js";

export interface TracingOptions {
  /** Name of the process's part: `framemill-front`, `framemill-worker`, `framemill-inference`. */
  readonly service: string;
  /** Which of several: the worker's id, for example. */
  readonly instance: string;
  /** Told of exports that failed, once a minute at most. Nothing else comes of them. */
  readonly onFailure: (reason: string) => void;
}

/** Spans kept while a receiver is slow or away, in each process; later ones are dropped. */
const MOST_SPANS = 4_096;
const EXPORT_EVERY_MS = 1_000;
const EXPORT_TIMEOUT_MS = 10_000;
/** Longest wait for the last export of a process that ends, in milliseconds. */
const CLOSE_MS = 2_000;

/** Spans of one process to a receiver, a file, or both, by the OpenTelemetry SDK. */
export function startTracing(settings: TraceSettings, options: TracingOptions): Tracing {
  const { service, instance, onFailure } = options;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": service,
      "service.instance.id": instance,
      "process.pid": process.pid,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanProcessors: openExporters(settings).map(
      (exporter) =>
        new BatchSpanProcessor({
          exporter: telling(exporter, onFailure),
          maxQueueSize: MOST_SPANS,
          scheduledDelayMillis: EXPORT_EVERY_MS,
          exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        }),
    ),
  });
  const tracer = provider.getTracer("framemill");
  const flushed = async () => await provider.shutdown().catch(() => {});
  return {
    tracer: { start: (name, given) => startSpan(tracer, name, given) },
    async close() {
      const flushing = new AbortController();
      const limit = sleep(CLOSE_MS, undefined, { signal: flushing.signal }).catch(() => {});
      await Promise.race([flushed(), limit]);
      flushing.abort();
    },
  };
}

function openExporters({ endpoint, headers, file }: TraceSettings): SpanExporter[] {
  const exporters: SpanExporter[] = [];
  if (endpoint !== undefined) {
    const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
    exporters.push(new OTLPTraceExporter({ url, headers: parseHeaders(headers) }));
  }
  if (file !== undefined) exporters.push(createFileExporter(file));
  return exporters;
}

/** As OpenTelemetry writes them: `name=value,name=value`, percent-encoded. */
function parseHeaders(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    return at < 1 ? [] : [[name, decodeURIComponent(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

const KINDS = {
  internal: Kinds.INTERNAL,
  server: Kinds.SERVER,
  client: Kinds.CLIENT,
  producer: Kinds.PRODUCER,
  consumer: Kinds.CONSUMER,
} as const;

function startSpan(tracer: TelemetryTracer, name: string, options: SpanOptions = {}): Span {
  const { parent, kind = "internal", attributes = {}, startedAtMs = unixMs() } = options;
  const started = { kind: KINDS[kind], attributes, startTime: startedAtMs };
  const span = tracer.startSpan(name, started, contextOf(parent));
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    set: (more) => void span.setAttributes(more),
    note: (event) => void span.addEvent(event, unixMs()),
    fail(code) {
      span.setAttribute("error.type", code);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end(atMs = unixMs()) {
      if (span.isRecording()) span.end(atMs);
    },
  };
}

function contextOf(parent: string | undefined): Context {
  const parts = splitTraceparent(parent);
  if (parts === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parts;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/**
 * Appends lines of OTLP JSON, which collectors read as well:
 * https://opentelemetry.io/docs/specs/otel/protocol/file-exporter. Processes may share the file.
 */
function createFileExporter(path: string): SpanExporter {
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

const TELL_EVERY_MS = 60_000;

/** The same exporter, whose failures are reported once a minute and end there. */
function telling(exporter: SpanExporter, onFailure: (reason: string) => void): SpanExporter {
  let toldAtMs = -TELL_EVERY_MS;
  return {
    export(spans, onResult) {
      exporter.export(spans, ({ code, error }) => {
        const nowMs = performance.now();
        if (code !== ExportResultCode.SUCCESS && nowMs - toldAtMs >= TELL_EVERY_MS) {
          toldAtMs = nowMs;
          onFailure(error?.message ?? "unknown reason");
        }
        // What could not be sent is given up here: the SDK would call the process's error handler.
        onResult({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: async () => await exporter.forceFlush?.(),
    shutdown: async () => await exporter.shutdown(),
  };
}
